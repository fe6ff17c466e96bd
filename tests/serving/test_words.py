"""What an engine says, before it gets into a report."""

from __future__ import annotations

import pytest

from eaglekit.serving.words import fit_to_print, last_words, without_secrets

LOG = """\
INFO 11-29 23:30:49 [gpu_model_runner.py:1] Starting to load model ...
(EngineCore pid=71) ERROR 11-29 23:30:49 [core.py:12] Traceback (most recent call last):
(EngineCore pid=71) ERROR 11-29 23:30:49 [core.py:12]   File "x.py", line 3, in load
(EngineCore pid=71) ERROR 11-29 23:30:49 [core.py:12] ValueError: There is no module or parameter named 'fc_norm'
Traceback (most recent call last):
  File "decode.py", line 3, in main
RuntimeError: Engine core initialization failed. See root cause above.
"""


def test_the_cause_is_told_and_not_what_it_led_to() -> None:
    assert last_words(LOG) == "ValueError: There is no module or parameter named 'fc_norm'"


def test_without_an_exception_the_last_line_is_told() -> None:
    assert last_words("one\n\x1b[31mtwo\x1b[0m\n\n") == "two"


def test_an_empty_log_has_no_last_words() -> None:
    assert last_words("") == ""


@pytest.mark.parametrize(
    ("said", "printed"),
    [
        pytest.param("no /home/somebody/models/drafter here", "no drafter here", id="folder of somebody"),
        pytest.param("File '/opt/env/lib/python3.11/site-packages/vllm/a.py'", "File 'vllm/a.py'", id="package"),
        pytest.param("token hf_abcdefghijklmnop", "token ***", id="token of the Hub"),
        pytest.param("Authorization: Bearer abc.def", "Authorization: Bearer ***", id="bearer"),
        pytest.param("vllm/config.py and 3/4 stay", "vllm/config.py and 3/4 stay", id="no absolute path"),
        pytest.param("\x1b[1mbold\x1b[0m", "bold", id="colours"),
    ],
)
def test_secrets_and_folders_do_not_get_into_a_report(said: str, printed: str) -> None:
    assert fit_to_print(said) == printed


def test_folders_that_were_given_are_called_by_name() -> None:
    assert fit_to_print("in /a b/c: bad", {"/a b/c": "c"}) == "in c: bad"


def test_a_long_complaint_is_cut() -> None:
    assert len(fit_to_print("x" * 5000)) < 700


def test_variables_with_secrets_are_kept_from_the_engine() -> None:
    given = {"HF_TOKEN": "1", "VLLM_API_KEY": "2", "AWS_SECRET_ACCESS_KEY": "3", "AWS_ACCESS_KEY_ID": "4",
             "DB_PASSWORD": "5", "PATH": "6", "TOKENIZERS_PARALLELISM": "7", "CUDA_VISIBLE_DEVICES": "8"}  # fmt: skip
    assert set(without_secrets(given)) == {"PATH", "TOKENIZERS_PARALLELISM", "CUDA_VISIBLE_DEVICES"}
