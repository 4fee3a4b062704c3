"""Run one drafter over some prompts in vLLM's own environment and print every round.

Nothing of specviz is imported here, so the results are vLLM's own. The job comes as JSON on
standard input (see `peers.py`); the answer goes to the file given as the only argument.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from vllm import LLM, SamplingParams
from vllm.sampling_params import RequestOutputKind

ACCEPTED = "vllm:spec_decode_num_accepted_tokens"
DRAFTED = "vllm:spec_decode_num_draft_tokens"


def loaded(job: dict[str, Any]) -> LLM:
    """Load vLLM in float32, without compilation."""
    return LLM(
        model=job["target"],
        dtype="float32",
        enforce_eager=True,
        max_model_len=job["longest"],
        max_num_seqs=1,
        seed=0,
        disable_log_stats=False,
        enable_prefix_caching=False,
        async_scheduling=False,
        speculative_config=job["speculative_config"],
    )


def counted(llm: LLM) -> tuple[int, int]:
    """Return how many tokens were drafted and accepted since loading."""
    found = {metric.name: metric.value for metric in llm.get_metrics() if hasattr(metric, "value")}
    return int(found.get(DRAFTED, 0)), int(found.get(ACCEPTED, 0))


def rounds(llm: LLM, name: str, ids: list[int], new_tokens: int) -> list[dict[str, Any]]:
    """Yield what every step of the engine drafted, accepted and wrote; the first is the prefill."""
    params = SamplingParams(
        temperature=0,
        max_tokens=new_tokens,
        output_kind=RequestOutputKind.DELTA,
        detokenize=False,
    )
    engine = llm.llm_engine
    engine.add_request(name, {"prompt_token_ids": ids}, params)
    found = []
    before = counted(llm)
    while engine.has_unfinished_requests():
        outputs = engine.step()
        now = counted(llm)
        new = [token for out in outputs for token in out.outputs[0].token_ids]
        found.append({"drafted": now[0] - before[0], "accepted": now[1] - before[1], "tokens": new})
        before = now
    return [one for one in found if one["tokens"] or one["drafted"]]


def main() -> None:
    """Read the job, load, run every prompt, and write the answer."""
    job = json.load(sys.stdin)
    answer = Path(sys.argv[1])
    llm = loaded(job)
    made = [
        rounds(llm, str(number), ids, job["new_tokens"])
        for number, ids in enumerate(job["prompts"])
    ]
    answer.write_text(json.dumps({"prompts": made}), encoding="utf-8")


if __name__ == "__main__":
    main()
