"""The user's rules file: found, read, and refused when it is wrong."""

import pytest

from toolroll.host.approval import user_rules


def test_the_user_s_rules_are_read_from_a_file(open_kit, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    file = tmp_path / "toolroll" / user_rules.FILE
    assert user_rules.rules_path() == str(file)
    assert user_rules.read_rules() == ()
    file.parent.mkdir()
    file.write_text('[[rule]]\ndecision = "deny"\ncommand = "make deploy"\nreason = "by hand only"\n')
    result = open_kit().call("bash", {"command": "true && make deploy"})
    assert result.error.code == "SecurityError"
    assert "by hand only" in result.text
    file.write_text("[[rule]]\ndecision = 'perhaps'\ncommand = 'x'\n")
    with pytest.raises(ValueError, match=user_rules.FILE):
        open_kit()


def test_a_rule_whose_example_is_wrong_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "toolroll").mkdir()
    rule = '[[rule]]\ndecision = "deny"\ncommand = "git push"\nmatch = ["git pull"]\n'
    (tmp_path / "toolroll" / user_rules.FILE).write_text(rule)
    with pytest.raises(ValueError, match="git pull"):
        user_rules.read_rules()
