"""Runs steps of a GitHub workflow as its runner does, as far as rlock's recipes and its action use them.

usage: github.py FILE DIRECTORY [secrets.NAME=VALUE]...

FILE has a list of steps. Each runs in a shell of its own, in DIRECTORY, with outputs by GITHUB_OUTPUT. A `uses` that
ends in .github/actions/NAME is this repository's action. After a failure only steps run whose `if` says always().
"""

import os
import re
import subprocess
import sys

import yaml

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHELLS = {None: ["bash", "-e"], "bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"]}


def value_of(expression, known):
    """`a && b`, each a name such as steps.lock.outputs.token; a name that nobody knows is empty."""
    value = ""
    for term in expression.split("&&"):
        value = "true" if term.strip() == "always()" else known.get(term.strip(), "")
        if not value:
            return ""
    return value


def fill(text, known):
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: value_of(found[1], known), str(text))


def run(step, known, directory, extra):
    script, outputs = os.path.join(directory, ".step"), os.path.join(directory, ".outputs")
    with open(script, "w", encoding="utf-8") as file:
        file.write(fill(step["run"], known))
    open(outputs, "w", encoding="utf-8").close()
    env = {**os.environ, **extra, "GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": outputs}
    env.update({name: fill(value, known) for name, value in step.get("env", {}).items()})
    status = subprocess.call(SHELLS[step.get("shell")] + [script], cwd=directory, env=env)
    with open(outputs, encoding="utf-8") as file:
        for line in file:
            name, value = line.rstrip("\n").split("=", 1)
            known[f"steps.{step.get('id')}.outputs.{name}"] = value
    return status


def run_all(steps, known, directory, extra):
    status = 0
    for step in steps:
        condition = str(step.get("if", ""))
        if status and "always()" not in condition or condition and not value_of(condition, known):
            continue
        if "uses" in step:
            path = os.path.join(REPOSITORY, re.search(r"\.github/actions/\w+", step["uses"])[0])
            with open(path + "/action.yml", encoding="utf-8") as file:
                action = yaml.safe_load(file)
            given = {name: fill(value, known) for name, value in step.get("with", {}).items()}
            assert not given.keys() - action["inputs"].keys(), f"no such input: {given}"
            inputs = {f"inputs.{name}": given.get(name, each.get("default")) for name, each in action["inputs"].items()}
            assert None not in inputs.values(), f"an input is missing: {inputs}"
            now = run_all(action["runs"]["steps"], inputs, directory, {"GITHUB_ACTION_PATH": path})
        else:
            now = run(step, known, directory, extra)
        status = status or now
    return status


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as workflow:
        sys.exit(run_all(yaml.safe_load(workflow), dict(each.split("=", 1) for each in sys.argv[3:]), sys.argv[2], {}))
