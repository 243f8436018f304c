#!/usr/bin/env python3
"""Packs captured Debezium events for the tests: pack.py CAPTURES (a folder with pg/ and my/).

DB/SCENARIO.ENCODING.jsonl.gz   all topics of a profile, a record a line, in order within each partition:
                                {"topic","partition","offset","timestamp","key","value","headers"};
                                key and value are text, null for none
DB/SCENARIO.expected.json.gz    the source's tables at the end, read with SQL
DB/g_bulk.json.jsonl.zst        the same, with each before image that repeats the last after image
                                of its key written as =

Everything is checked to unpack to what was read.
"""
import gzip
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PROFILES = {
    "a_basic": ("p1_default", ["json", "json_schema", "json_options", "json_schema_options"]),
    "b_types": ("p1_default", ["json", "json_schema", "json_options", "json_schema_options"]),
    "e_events": ("p1_all", ["json"]),
    "g_bulk": ("p1", ["json"]),
}
AFTER = re.compile(r'"after":(\{[^{}]*\}),"source"')


def lines(path):
    # Not splitlines: the events hold U+2028 and U+0085.
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8", newline="\n") as f:
        return f.read().removesuffix("\n").split("\n")


def records(folder, encoding):
    for name in sorted(os.listdir(folder)):
        if re.search(rf"\.{encoding}\.jsonl(\.gz)?$", name):
            yield from lines(os.path.join(folder, name))


def squeeze(line, last):
    record = json.loads(line)
    value = record["value"]
    if value is None:
        return line
    image = last.get(record["key"])
    if image is not None and f'{{"before":{image},' in value:
        record["value"] = value.replace(f'{{"before":{image},', '{"before":=,', 1)
    remember(record["key"], value, last)
    return dump(record)


def stretch(line, last):
    record = json.loads(line)
    if record["value"] is None:
        return line
    if record["value"].startswith('{"before":=,'):
        record["value"] = record["value"].replace("=", last[record["key"]], 1)
    remember(record["key"], record["value"], last)
    return dump(record)


def remember(key, value, last):
    after = AFTER.search(value)
    if after:
        last[key] = after.group(1)


def dump(record):
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def write(path, data):
    if path.endswith(".zst"):
        data = subprocess.run(["zstd", "-19", "--long=25", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
    else:
        data = gzip.compress(data, 9, mtime=0)
    with open(path, "wb") as f:
        f.write(data)


def main(captures):
    for db in ("pg", "my"):
        os.makedirs(os.path.join(HERE, db), exist_ok=True)
        for scenario, (profile, encodings) in PROFILES.items():
            folder = os.path.join(captures, db, scenario, profile)
            target = os.path.join(HERE, db, scenario)
            for encoding in encodings:
                found = list(records(folder, encoding))
                if scenario == "g_bulk":
                    last, again = {}, {}
                    packed = [squeeze(line, last) for line in found]
                    assert [stretch(line, again) for line in packed] == [dump(json.loads(line)) for line in found]
                    write(f"{target}.{encoding}.jsonl.zst", "\n".join(packed).encode() + b"\n")
                else:
                    write(f"{target}.{encoding}.jsonl.gz", "\n".join(found).encode() + b"\n")
            path = os.path.join(folder, "expected.json")
            path = path if os.path.exists(path) else path + ".gz"
            write(f"{target}.expected.json.gz", "\n".join(lines(path)).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
