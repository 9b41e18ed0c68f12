"""What to look for in each language, as tree-sitter queries.

A capture is named for what is done with it:

- `function`, `class`, `import` ...: a definition, from its start to its end (see `model.KINDS`);
- `name`: what the innermost definition around it without a name is called;
- `declared`: what C declares: the names in it, and whether they are functions, are for `declarators` to tell;
- `scope`: no definition itself, but the parent of what is in it (an `impl`);
- `decorator`: belongs to the definition that it stands before, or in;
- `ref.call`, `ref.type`, `ref.import`, `ref.inherit`, `ref.decorator`: a name that is used;
- `comment`, `text`: where a word is no use of anything.
"""
