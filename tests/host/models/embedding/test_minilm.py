"""The model in numpy, with the real weights where they are here."""

import time

import pytest

from tests.host.models.embedding.served import FOLDER, REAL
from toolroll.host.runtime.cancellation import CancelToken

pytestmark = REAL
SENTENCES = [
    "The cat sits outside",
    "A man is playing guitar",
    "The new movie is awesome",
    "The dog plays in the garden",
]


@pytest.fixture(scope="module")
def local():
    from toolroll.host.models.embedding.embedder import LocalEmbedder
    from toolroll.host.models.embedding.model_files import ModelStore

    return LocalEmbedder(ModelStore({"TOOLROLL_MODELS": FOLDER}))


def test_known_cosines(local):
    """What BERT in transformers, with the same weights, gives for these sentences."""
    import numpy as np

    rows = local.embed(SENTENCES, CancelToken())
    assert (rows.shape, rows.dtype, local.name) == ((4, 384), np.float32, "all-MiniLM-L6-v2")
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-6)
    cosines = rows @ rows.T
    assert cosines[0].tolist() == pytest.approx([1, 0.0363, -0.0247, 0.2838], abs=1e-4)
    assert rows[0, :4].tolist() == pytest.approx([0.13919, 0.00303, 0.04701, 0.03957], abs=2e-5)


def test_a_text_has_one_vector_whatever_goes_with_it(local):
    texts = [*SENTENCES, "word " * 300, "", "?"]
    together = local.embed(texts, CancelToken())
    apart = [local.embed([text], CancelToken())[0] for text in texts]
    assert abs(together - apart).max() < 1e-5
    assert local.embed(["word " * 254], CancelToken())[0] @ together[4] == pytest.approx(
        1, abs=1e-5
    )  # the rest is cut off


@pytest.mark.clock
def test_a_question_is_quick(local):
    local.embed(["How often is it?"], CancelToken())
    spent = []
    for _ in range(5):
        began = time.process_time()
        local.embed(["How often are the credentials of the deployment renewed?"], CancelToken())
        spent.append(time.process_time() - began)
    # Measured at 10 to 20 ms; with the threads of the library, on a busy machine, it was 400.
    assert min(spent) < 0.2


def test_it_can_be_cancelled(local):
    from toolroll import ToolError

    token = CancelToken()
    token.cancel()
    with pytest.raises(ToolError, match="cancelled"):
        local.embed(["a"], token)
