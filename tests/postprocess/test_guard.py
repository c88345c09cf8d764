"""postprocess/guard/: every end of a program is one line and a documented status, and nothing that was there is lost."""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SOURCE = Path(os.environ.get("LEXIKOS_SOURCE_DIR") or Path(__file__).resolve().parents[2])
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE))

from postprocess.guard import child, failure, seal, whole_file  # noqa: E402

PROGRAM = """
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, {source!r})
from pathlib import Path
from postprocess.guard import program, whole_file
from postprocess.guard.command_line import Parser, path, text
from postprocess.guard.failure import Failure
def main(arguments):
{body}
program.run("tool", main)
"""


def program(body: str) -> list[str]:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return [sys.executable, "-c", PROGRAM.format(source=str(SOURCE), body=lines)]


class Case(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def ends(self, body: str, status: int, words: str, *arguments: str, out: str = "", **settings) -> None:
        """One line on stderr that has `words` (none where it is empty), `out` on stdout, and the status."""
        done = subprocess.run([*program(body), *arguments], capture_output=True, check=False, **settings)
        complaints = done.stderr.decode("utf-8")
        self.assertEqual((done.returncode, done.stdout.decode("utf-8")), (status, out), complaints)
        self.assertEqual(len(complaints.splitlines()), 1 if words else 0, complaints)
        self.assertIn(words, complaints)


class Ends(Case):
    def test_exceptions(self):
        for body, status, words in (
                ("raise Failure(3, 'a\\nb \\x1b[31m \\udce9')", 3, "tool: error: a b \\x1b[31m \\xe9"),
                ("1 / 0", 1, "ZeroDivisionError: division by zero (<string>:"), ("open('/none/x')", 3, "/none/x: No such file"),
                ("import numqy", 5, "no module numqy (type: pip install numqy)"), ("raise MemoryError", 5, "not enough memory"),
                ("raise KeyboardInterrupt", 130, "stopped by SIGINT"), ("class Panic(BaseException): pass\nraise Panic('x')", 1, "x"),
                ("def f(): f()\nf()", 1, "RecursionError"), ("Parser(prog='t').parse_args(['--x\\n'])", 2, "--x (see"),
                ("import warnings, logging\nwarnings.warn('w')\nlogging.error('l')", 0, "")):
            with self.subTest(body=body):
                self.ends(body, status, words)

    def test_a_broken_package_is_named(self):
        (self.folder / "numpy").mkdir()
        (self.folder / "numpy" / "__init__.py").write_text("raise ValueError('size changed')")
        self.ends(f"sys.path.insert(0, {str(self.folder)!r})\nimport numpy", 5, "cannot load its package numpy (ValueError: size")

    def test_the_traceback_is_there_when_asked_for(self):
        done = subprocess.run(program("1 / 0"), capture_output=True, text=True, check=False,
                              env={**os.environ, "LEXIKOS_TRACEBACK": "1"})
        self.assertIn("Traceback", done.stderr)

    def test_output_that_nobody_reads(self):
        for redirection, status, words in ((">&-", 3, "is lost: standard output: it is closed"),
                                           (">/dev/full", 3, "No space left"), ("2>&- >&-", 3, ""), ("| head -c 1", 0, "")):
            for body, expected in (("print('x' * 1000000)", status), ("program.remark('x')", 0)):
                command = " ".join(f'"{word}"' if i else word for i, word in enumerate(("exec", "$0", "-c", "$1")))
                command = f"{command} {redirection}".replace("exec ", "", 1) + "; exit ${PIPESTATUS[0]}"
                interpreter, _, code = program(body)
                done = subprocess.run(["bash", "-c", command, interpreter, code], capture_output=True, text=True, check=False)
                with self.subTest(redirection=redirection, body=body):
                    self.assertEqual(done.returncode, expected, done.stderr)
                    self.assertEqual(len(done.stderr.splitlines()), 1 if expected and words else 0, done.stderr)
                    self.assertIn(words if expected else "", done.stderr)

    def test_a_closed_descriptor_is_not_given_to_a_file(self):
        path = self.folder / "x"
        body = f"file = open({str(path)!r}, 'w')\nfile.write('kept')\nfile.flush()\nprint('not in it')\nprint('nor this', file=sys.stderr)"
        subprocess.run(["bash", "-c", 'exec "$0" -c "$1" >&- 2>&- <&-', program(body)[0], program(body)[2]], check=False)
        self.assertEqual(path.read_text(), "kept")

    def test_closed_input(self):
        done = subprocess.run(["bash", "-c", 'exec "$0" -c "$1" <&-', *program("program.standard_input()")[::2]],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (3, 1), done.stderr)

    def test_any_locale(self):
        for more in ({"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}):
            environment = {**os.environ, **more}
            self.ends("print(text(arguments[0]) + '\\udce9\\ud800')", 0, "", "é", out="é\\xe9\\ud800\n", env=environment)
        self.ends("p = Parser(prog='t')\np.add_argument('x', type=text)\np.parse_args(arguments)", 2, "not UTF-8 text at byte 1",
                  b"a\xff")

    def test_home(self):
        self.ends("print(path('~/x'), path('~'), path('a~'))", 0, "", out="/h/x /h a~\n", env={**os.environ, "HOME": "/h"})


class Signals(Case):
    WRITES = ("with whole_file.replacing(Path(arguments[0])) as file:\n    file.write(b'half')\n    print('ready', flush=True)\n"
              "    import time\n    time.sleep(60)")

    def test_an_older_file_survives(self):
        path = self.folder / "x"
        path.write_text("older")
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            process = subprocess.Popen([*program(self.WRITES), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True)
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(number)
            _, complaints = process.communicate(timeout=60)
            self.assertEqual((process.returncode, len(complaints.splitlines())), (128 + number, 1), complaints)
            self.assertIn(f"stopped by {number.name}", complaints)
            self.assertEqual([(one.name, one.read_text()) for one in self.folder.iterdir()], [("x", "older")])

    def test_nohup(self):
        body = "import os, signal\nos.kill(os.getpid(), signal.SIGHUP)\nprint('on')"
        done = subprocess.run(["bash", "-c", 'trap "" HUP; exec "$0" -c "$1"', *program(body)[::2]], capture_output=True, text=True,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "on\n"), done.stderr)


class Files(Case):
    def test_a_disk_that_is_full(self):
        path = self.folder / "x"
        path.write_text("older")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # noqa: E731
        self.ends("whole_file.write_whole(Path(arguments[0]), bytes(5000))", 3, "cannot write", str(path), preexec_fn=limit)
        self.assertEqual([(one.name, one.read_text()) for one in self.folder.iterdir()], [("x", "older")])

    def test_links_stay_and_devices_are_not_replaced(self):
        (self.folder / "target").write_text("older")
        (self.folder / "link").symlink_to("target")
        whole_file.write_whole(self.folder / "link", b"newer")
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual((self.folder / "target").read_bytes(), b"newer")
        os.mkfifo(self.folder / "fifo")
        for path, words in ((self.folder / "fifo", "no ordinary file"), (self.folder, "a folder"), (Path("/dev/null"), "ordinary")):
            with self.assertRaisesRegex(failure.Failure, words):
                whole_file.write_whole(path, b"")

    def test_seal(self):
        content = bytes(range(256)) * 40
        path = self.folder / "x"
        path.write_bytes(content)
        self.assertFalse(seal.intact(path))
        sealed = content + seal.seal_of(content)
        path.write_bytes(sealed)
        self.assertTrue(seal.intact(path))
        for damaged in (b"\1" + sealed[1:], sealed[:5000] + b"x" + sealed[5001:], sealed[1:], sealed[:-1] + b"x"):
            path.write_bytes(damaged)
            with self.assertRaisesRegex(failure.Failure, "not those that were sealed"):
                seal.intact(path)

    def test_crc(self):
        self.assertEqual(seal.crc64(b"123456789"), 0x995DC9BBDF1939FA)  # the polynomial's check value
        whole, byte_by_byte = os.urandom(3 * seal.LANE + 5), 0xFFFFFFFFFFFFFFFF
        for byte in whole:
            byte_by_byte ^= byte
            for _ in range(8):
                byte_by_byte = byte_by_byte >> 1 ^ (0xC96C5795D7870F42 if byte_by_byte & 1 else 0)
        self.assertEqual(seal.crc64(whole), byte_by_byte ^ 0xFFFFFFFFFFFFFFFF)


class Children(unittest.TestCase):
    def test_answers(self):
        self.assertEqual(child.call(lambda: {"x": bytes(3_000_000)}), {"x": bytes(3_000_000)})
        with self.assertRaisesRegex(failure.Failure, "why"):
            child.call(self.fails)
        with self.assertRaises(MemoryError):
            child.call(lambda: bytearray(1 << 30), memory=1 << 28)

    @staticmethod
    def fails():
        raise failure.Failure(3, "why")

    def test_crashes_and_endless_loops(self):
        start = time.monotonic()
        for function, words in ((os.abort, "crash .SIGABRT"), (lambda: os._exit(255), "status 255"),
                                (self.loops, "no end "), (lambda: time.sleep(60), "no end within 5 s"), (lambda: os._exit(0), "sudden end")):
            with self.assertRaisesRegex(child.Ended, words):
                child.call(function, seconds=1.0)
        self.assertLess(time.monotonic() - start, 40.0)

    @staticmethod
    def loops():
        while True:
            pass

    def test_it_says_nothing(self):
        body = "import os\nfrom postprocess.guard import child\nchild.call(lambda: os.write(2, b'noise') and os.write(1, b'noise'))\n" \
               "with child.silent():\n    os.write(2, b'noise')"
        done = subprocess.run(program(body), capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))


if __name__ == "__main__":
    unittest.main()
