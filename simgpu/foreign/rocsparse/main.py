"""Compares Debian's rocSPARSE on a simulated AMD GPU with SciPy. `cargo xtask test --full` runs it.

Arguments: --brief makes every tenth check; other words choose the checks whose name contains one.
The exit code is 1 if a result is wrong or the simulator has a finding that `known.tsv` does not list.
"""

import sys
from collections import Counter
from pathlib import Path

from checks import GROUPS
from device import Wrong, findings


def known():
    """Returns the kinds and kernels of findings that are right."""
    lines = Path(__file__).with_name("known.tsv").read_text().splitlines()
    return [line.split("\t")[:2] for line in lines if not line.startswith("#")]


def main(arguments):
    brief = "--brief" in arguments
    words = [word for word in arguments if not word.startswith("--")]
    expected = known()
    findings()
    checks, wrong, right, found, stale = 0, 0, 0, Counter(), set(map(tuple, expected))
    for number, (name, check) in enumerate(check for group in GROUPS for check in group()):
        if (brief and number % 10) or (words and not any(word in name for word in words)):
            continue
        checks += 1
        try:
            check()
        except Wrong as why:
            wrong += 1
            print(f"wrong: {name}: {why}")
        for finding in findings():
            key = (finding["kind"], finding["kernel"])
            listed = {(kind, part) for kind, part in expected if kind == key[0] and part in key[1]}
            if listed:
                right += 1
                stale -= listed
                continue
            found[key] += 1
            if found[key] == 1:
                print(f"finding: {name}: {finding['kind']}: {finding['kernel']}: {finding['message']}")
    print(f"rocSPARSE: {checks - wrong} of {checks} checks are right; {right} findings are known to be right, "
          f"{sum(found.values())} are not")
    if brief or words:
        stale = ()
    for kind, part in stale:
        print(f"known.tsv lists a finding that there is not any more: {kind} in {part}")
    return int(wrong > 0 or bool(found) or bool(stale) or checks == 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
