"""The requests file, requests.h5: what the job `evaluate` scores.

Layout, format "lexikos-requests" version 1; offsets are int64 and have one entry more than there are rows:
  root attributes        format, format_version, vocabulary_size (V), tokenizer, tokenizer_hash (SHA-256 of its model),
                         prefix (the id of an empty context), code_version
  /tasks                 name, shape ("multiple_choice", "last_word", "rolling"), metrics (names, blanks between),
                         description: string [tasks]
  /documents             int64 [documents]: task (row of /tasks), gold (number of the right choice), words, bytes (of a
                         page before detokenisation, else 0); first_request (offsets into /requests)
  /requests              int64 [requests]: choice, code_points, bytes (lengths of the choice without what stands before
                         it), context (row of /contexts; the same for choices of a document with the same context)
  /contexts              begin (offsets), ids
  /continuations         begin (offsets; one row a request), ids: these are scored
ids are uint16, or uint32 if V > 65,536. Of a rolling task the context is the prefix and the continuation the page; the
executable cuts it into windows of its T. The file ends in a seal (src/hdf5/seal.hpp).
"""

import hashlib
from pathlib import Path

import h5py
import numpy as np

import hdf5_file
import tokens_file
from task_requests import Document, TaskRequests

FORMAT = "lexikos-requests"
FORMAT_VERSION = 1


def write_requests(path: Path, tokenizer, prefix: int, tasks: list[TaskRequests]) -> None:
    """The file, whole or not at all."""
    hdf5_file.write(path, lambda file: _write_contents(file, tokenizer, prefix, tasks), sealed=True)


def _write_contents(file: h5py.File, tokenizer, prefix: int, tasks: list[TaskRequests]) -> None:
    file.attrs["format"] = FORMAT
    file.attrs["format_version"] = np.int64(FORMAT_VERSION)
    file.attrs["vocabulary_size"] = np.int64(tokenizer.vocabulary_size)
    file.attrs["tokenizer"] = tokenizer.name
    file.attrs["tokenizer_hash"] = hashlib.sha256(tokenizer.model).hexdigest()
    file.attrs["prefix"] = np.int64(prefix)
    file.attrs["code_version"] = tokens_file.code_version()
    _write_tasks(file, tasks)
    documents = [(number, document) for number, task in enumerate(tasks) for document in task.documents]
    _write_documents(file, documents)
    _write_texts(file, [document for _, document in documents], tokens_file.id_type(tokenizer.vocabulary_size))


def _write_tasks(file: h5py.File, tasks: list[TaskRequests]) -> None:
    columns = {"name": [one.task.name for one in tasks], "shape": [one.task.shape for one in tasks],
               "metrics": [" ".join(one.task.metrics) for one in tasks],
               "description": [one.description for one in tasks]}
    for name, values in columns.items():
        file.create_dataset(f"tasks/{name}", data=values, dtype=h5py.string_dtype("utf-8"))


def _write_documents(file: h5py.File, documents: list[tuple[int, Document]]) -> None:
    columns = {"task": [number for number, _ in documents], "gold": [document.gold for _, document in documents],
               "words": [document.words for _, document in documents],
               "bytes": [document.bytes for _, document in documents],
               "first_request": _offsets(len(document.requests) for _, document in documents)}
    for name, values in columns.items():
        file.create_dataset(f"documents/{name}", data=np.array(values, dtype="<i8"))


def _write_texts(file: h5py.File, documents: list[Document], id_type: np.dtype) -> None:
    requests = [request for document in documents for request in document.requests]
    contexts: list[list[int]] = []
    context_of = []
    for document in documents:
        rows: dict[tuple[int, ...], int] = {}
        for request in document.requests:
            key = tuple(request.context)
            if key not in rows:
                rows[key] = len(contexts)
                contexts.append(request.context)
            context_of.append(rows[key])
    columns = {"choice": [request.choice for request in requests],
               "code_points": [request.code_points for request in requests],
               "bytes": [request.bytes for request in requests], "context": context_of}
    for name, values in columns.items():
        file.create_dataset(f"requests/{name}", data=np.array(values, dtype="<i8"))
    for name, texts in (("contexts", contexts), ("continuations", [request.continuation for request in requests])):
        file.create_dataset(f"{name}/begin", data=np.array(_offsets(map(len, texts)), dtype="<i8"))
        ids = [i for text in texts for i in text]
        file.create_dataset(f"{name}/ids", data=np.array(ids, dtype=np.uint32).astype(id_type))


def _offsets(lengths) -> list[int]:
    return np.concatenate([[0], np.cumsum(list(lengths), dtype=np.int64)]).astype(np.int64).tolist()
