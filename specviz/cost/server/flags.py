"""The options with which an inference server drafts a chain of γ tokens.

Names as in docs.vllm.ai (features/speculative_decoding), docs.sglang.io
(advanced_features/speculative_decoding) and ggml-org/llama.cpp (docs/speculative.md; before 2026,
`--spec-draft-n-max` was `--draft-max` and `--spec-draft-model` was `--model-draft`).
"""

from __future__ import annotations

import json
from typing import Final

from specviz.cost.sources import HEAD, NGRAM

YOURS: Final = {HEAD: "YOUR-EAGLE-3-HEAD"}  # to be filled in
OTHER: Final = "YOUR-DRAFT-MODEL"


def launch_flags(drafter: str, gamma: int) -> dict[str, str]:
    """Return the options by program, for a kind of drafter and a draft length of at least 1."""
    model = YOURS.get(drafter, OTHER)
    vllm, sglang, llamacpp = {
        HEAD: ("eagle3", "EAGLE3", "draft-eagle3"),
        NGRAM: ("ngram", "NGRAM", "ngram-simple"),
    }.get(drafter, ("draft_model", "STANDALONE", "draft-simple"))
    if drafter == NGRAM:
        config: dict[str, object] = {"method": vllm}
        chain = ["--speculative-ngram-max-bfs-breadth 1"]
        length = f"--spec-ngram-simple-size-m {gamma}"
    else:
        config = {"method": vllm, "model": model}
        chain = [
            f"--speculative-draft-model-path {model}",
            f"--speculative-num-steps {gamma}",
            "--speculative-eagle-topk 1",
        ]
        length = f"--spec-draft-model {model}.gguf --spec-draft-n-max {gamma}"
    config["num_speculative_tokens"] = gamma
    verified = gamma + 1  # SGLang also counts the last committed token
    return {
        "vLLM": f"--speculative-config '{json.dumps(config)}'",
        "SGLang": " \\\n".join(
            [
                f"--speculative-algorithm {sglang}",
                *chain,
                f"--speculative-num-draft-tokens {verified}",
            ]
        ),
        "llama.cpp": f"--spec-type {llamacpp} {length}",
    }


def list_flags(drafter: str, gamma: int) -> str:
    """Return the options by program as Markdown, with a block to copy for each."""
    options = launch_flags(drafter, gamma).items()
    return "\n".join(f"**{program}**\n```sh\n{flags}\n```" for program, flags in options)
