"""A congestion control module as a process: one object a connection."""
import subprocess


class Module:
    def __init__(self, program, *params):
        self.process = subprocess.Popen([program, *params], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def call(self, kind, **fields):
        words = " ".join(f"{name}={int(value)}" for name, value in fields.items())
        self.process.stdin.write(f"{kind} {words}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if "=" not in line:
            raise RuntimeError(line.strip() or "the module ended")
        answer = {name: int(value) for name, value in (word.split("=") for word in line.split())}
        if answer["error"]:
            raise RuntimeError(f"error {answer['error']} for: {kind} {words}")
        return answer

    def close(self):
        self.process.stdin.close()
        self.process.wait()
