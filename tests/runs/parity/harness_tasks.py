"""lm-evaluation-harness on local files: its own task definitions, with their data sets replaced by JSON lines."""

import json
import os
import re
import shutil
from pathlib import Path

# Our name -> (folder, definition, split that is evaluated) in the installed harness.
TASKS = {"hellaswag": ("hellaswag", "hellaswag.yaml", "validation"), "arc_easy": ("arc", "arc_easy.yaml", "test"),
         "arc_challenge": ("arc", "arc_challenge.yaml", "test"), "piqa": ("piqa", "piqa.yaml", "validation"),
         "winogrande": ("winogrande", "default.yaml", "validation"),
         "lambada_openai": ("lambada", "lambada_openai.yaml", "test"), "wikitext": ("wikitext", "wikitext.yaml", "test")}


def write_definitions(folder: Path, records: dict[str, list[dict]]) -> None:
    """One folder a task with the harness's files; the definition reads our records and is named parity_<task>."""
    import lm_eval

    installed = Path(lm_eval.__file__).parent / "tasks"
    for name, rows in records.items():
        source, definition, split = TASKS[name]
        target = folder / name
        target.mkdir(parents=True)
        for helper in (installed / source).glob("*.py"):
            shutil.copy(helper, target)
        data = target / "records.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        (target / "task.yaml").write_text(_local(_whole(installed / source, definition), name, split, data))


def _whole(folder: Path, definition: str) -> str:
    """A definition with the one it includes in front of it, if it does."""
    text = (folder / definition).read_text(encoding="utf-8")
    included = re.search(r"^include: (\S+)$", text, flags=re.MULTILINE)
    if not included:
        return text
    own = text.replace(included[0], "")
    keys = re.findall(r"^(\w+):", own, flags=re.MULTILINE)
    base = _whole(folder, included[1])
    for key in keys:
        base = re.sub(rf"^{key}:.*\n(?:[ -].*\n)*", "", base, flags=re.MULTILINE)
    return base + own


def _local(text: str, name: str, split: str, data: Path) -> str:
    for key in ("task", "tag", "dataset_path", "dataset_name", "training_split", "validation_split", "test_split",
                "fewshot_split"):
        text = re.sub(rf"^{key}:.*\n(?:[ ]+-.*\n)*", "", text + "\n", flags=re.MULTILINE)
    # The harness leaves a question out of its own examples where they come from what it calls the test split, or from
    # none that is named.
    examples = "fewshot_split: test\n" if split == "test" else ""
    return (f"task: parity_{name}\n{examples}dataset_path: json\ndataset_kwargs:\n  data_files:\n    {split}: {data}\n"
            f"{split}_split: {split}\n" + text)


def evaluate(model: Path, definitions: Path, names: list[str], shots: int, cache: Path) -> dict:
    """The harness's results and samples, on the CPU in fp32, without the network."""
    os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TRANSFORMERS_OFFLINE="1", HF_HOME=str(cache),
                      TOKENIZERS_PARALLELISM="false")
    from lm_eval import simple_evaluate
    from lm_eval.models.huggingface import HFLM
    from lm_eval.tasks import TaskManager

    return simple_evaluate(model=HFLM(pretrained=str(model), device="cpu", dtype="float32", batch_size=8),
                           tasks=[f"parity_{name}" for name in names], num_fewshot=shots, bootstrap_iters=0,
                           task_manager=TaskManager(include_path=str(definitions), include_defaults=False))
