"""Exported models in Hugging Face's transformers, and theirs here: logits at every place.

Needs an interpreter with torch and transformers: LEXIKOS_PARITY_PYTHON, else the one that runs this.
Skipped with the reason where it has them not."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

import h5py
import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))
from harness.runs import INTERFACES, RunTest, likely_rounding_of_logits, run  # noqa: E402

PYTHON = os.environ.get("LEXIKOS_PARITY_PYTHON") or sys.executable
SCRIPT = Path(__file__).with_name("with_transformers.py")
# A rate and an initial deviation so large that every part of the model counts in the logits.
TRAIN = ("transformer.init_deviation=0.3", "optimizer.learning_rate=1e-2", "run.steps=20")
ROWS = 3


def their_python(*arguments):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}
    return subprocess.run([PYTHON, *map(str, arguments)], capture_output=True, text=True,
                          timeout=240, env=environment, check=False)


def setUpModule():
    probe = their_python("-c", "import numpy, safetensors, torch, transformers")
    if probe.returncode != 0:
        reason = f"{PYTHON}: {probe.stderr.strip().splitlines()[-1]}"
        print("skipped:", reason)
        raise unittest.SkipTest(reason)


class Transformers(RunTest):
    def texts(self):
        with h5py.File(self.tokens) as file:
            return file["validation"][:16 * ROWS].reshape(ROWS, 16).astype("i8")

    def ours(self, deck, folder, *arguments):
        rows = []
        for ids in self.texts():
            result = run(["-i", deck, "-d", folder, "job=sample", f"sample.prompt_ids={ids.tolist()}",
                          "sample.tokens=0", "sample.logits=true", *arguments])
            self.assertEqual(result.returncode, 0, result.stderr)
            with h5py.File(folder / "logits.h5") as file:
                rows.append(file["logits"][()])
        return np.stack(rows)

    def theirs(self, folder):
        np.save(self.folder / "ids.npy", self.texts())
        result = their_python(SCRIPT, "logits", folder, self.folder / "ids.npy",
                              self.folder / "out.npy")
        self.assertEqual(result.returncode, 0, result.stderr)
        return np.load(self.folder / "out.npy"), result.stdout.strip()

    def compare(self, name, ours, folder):
        theirs, versions = self.theirs(folder)
        self.assertEqual(ours.shape, theirs.shape)
        difference, scale = np.abs(ours - theirs).max(), np.abs(theirs).max()
        print(f"{name}: largest difference {difference:.2e} of logits up to {scale:.1f}; {versions}",
              flush=True)
        self.assertGreater(scale, 1)
        self.assertLess(difference, likely_rounding_of_logits(theirs))

    def exported(self, name, *arguments):
        out = self.lexikos(*TRAIN, *arguments, name=name)
        result = run(["-i", self.deck, "-d", out, "job=export", *TRAIN, *arguments])
        self.assertEqual(result.returncode, 0, result.stderr)
        return out

    def test_every_interface(self):
        for interface in INTERFACES:
            with self.subTest(interface=interface):
                chosen = f"embedding.interface={interface}"
                out = self.exported(interface, chosen)
                self.compare(interface, self.ours(self.deck, out, chosen, *TRAIN),
                             out / "exported")

    def test_other_settings(self):
        more = ("embedding.interface=untied", "transformer.heads=4", "transformer.kv_heads=2",
                "transformer.rope_base=300.0", "transformer.norm_epsilon=1e-3",
                "transformer.mlp_width=50", "data.vocabulary_size=64", "export.shard_bytes=20000")
        out = self.exported("other", *more)
        self.compare("grouped heads, other base, epsilon and padding, shards",
                     self.ours(self.deck, out, *more, *TRAIN), out / "exported")

    def test_theirs_here(self):
        models = {
            "theirs, grouped heads, tied": ["num_key_value_heads=2", "tie_word_embeddings=true"],
            "theirs, one key head, shards": ["num_key_value_heads=1", "max_shard_size=\"20KB\"",
                                             "rms_norm_eps=1e-4"],
            "theirs, another base": ["num_key_value_heads=4", "rope_parameters={\"rope_type\": "
                                     "\"default\", \"rope_theta\": 500.0}"]}
        for i, (name, settings) in enumerate(models.items()):
            with self.subTest(name):
                folder = self.folder / f"theirs_{i}"
                made = their_python(SCRIPT, "make", folder, "vocab_size=61", "hidden_size=32",
                                    "intermediate_size=44", "num_hidden_layers=2",
                                    "num_attention_heads=4", "max_position_embeddings=16",
                                    "initializer_range=0.3", *settings)
                self.assertEqual(made.returncode, 0, made.stderr)
                out = self.folder / f"ours_{i}"
                result = run(["-i", self.deck_for(folder), "job=import", "-d", out])
                self.assertEqual(result.returncode, 0, result.stderr)
                self.compare(name, self.ours(out / "deck.toml", out), folder)

    def deck_for(self, folder):
        deck = self.folder / "import.toml"
        deck.write_text(f'[import]\nfolder = "{folder}"\n[run]\nsteps = 1\n')
        return deck


if __name__ == "__main__":
    unittest.main()
