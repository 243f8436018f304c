#!/usr/bin/env python3
"""Reads Paimon tables with pypaimon or pypaimon-rust; prints the JSONL of `paimon-verify rows`. Writes them with pypaimon.

  readers.py --warehouse W --table db.t [--impl pypaimon|rust] [--snapshot N] [--option k=v]
  readers.py ... --changelog [--from-snapshot A] [--to B]
  readers.py ... --write F [--overwrite]
  readers.py arrow FILE
  readers.py serve

--changelog prints the changelog files' rows of snapshots A to B, one {"snapshot","kind","row"} a line.
--write commits the rows of F, a JSON object a line, in one snapshot, with --overwrite in place of all that the table has.
arrow prints the rows of an Arrow IPC stream, as pyarrow reads them, in their order.
S3: --option s3.endpoint=... --option s3.access-key=... --option s3.secret-key=...

serve reads requests {"id":1,"words":[...]}, a line each, and answers {"id","rc","out","err"}.
"""
import argparse
import base64
import datetime
import json
import math
import os
import re
import struct
import sys
import traceback

import numpy
import pyarrow as pa

# ---- canonical text (see ../CANONICAL.md)


def quote(text):
    return json.dumps(text, ensure_ascii=False)


def number(value, single):
    """The shortest digits that read back as the same number, laid out as Go's encoding/json does."""
    if math.isnan(value):
        return '"NaN"'
    if math.isinf(value):
        return '"Infinity"' if value > 0 else '"-Infinity"'
    if value == 0:
        return "-0" if math.copysign(1, value) < 0 else "0"
    text = numpy.format_float_scientific(numpy.float32(value) if single else numpy.float64(value), unique=True)
    sign, whole, fraction, exponent = re.fullmatch(r"(-?)(\d)\.?(\d*)e([+-]\d+)", text).groups()
    digits, exponent = (whole + fraction).rstrip("0"), int(exponent)
    if not -6 <= exponent < 21:
        return f"{sign}{digits[0]}{'.' + digits[1:] if digits[1:] else ''}e{'-' if exponent < 0 else '+'}{abs(exponent)}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole, fraction = digits[:exponent + 1].ljust(exponent + 1, "0"), digits[exponent + 1:]
    return f"{sign}{whole}{'.' + fraction if fraction else ''}"


PER_SECOND = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
EPOCH = datetime.date(1970, 1, 1)


def date(days):
    return (EPOCH + datetime.timedelta(days=days)).isoformat()


def clock(count, unit, digits):
    seconds, fraction = divmod(count, PER_SECOND[unit])
    fraction = fraction * 10**9 // PER_SECOND[unit] // 10**(9 - digits)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:0{digits}d}"


def timestamp(count, type_):
    days, rest = divmod(count, 86400 * PER_SECOND[type_.unit])
    return f'"{date(days)}T{clock(rest, type_.unit, 9 if type_.unit == "ns" else 6)}{"Z" if type_.tz else ""}"'


def canonical(array):
    """The values of an Arrow array as canonical JSON texts."""
    if isinstance(array, pa.ChunkedArray):
        return [text for chunk in array.chunks for text in canonical(chunk)]
    t = array.type
    valid = array.is_valid().to_pylist()

    def each(values, text):
        return [text(v) if ok else "null" for v, ok in zip(values, valid)]

    if pa.types.is_dictionary(t):
        return canonical(array.dictionary_decode())
    if pa.types.is_boolean(t):
        return each(array.to_pylist(), lambda v: "true" if v else "false")
    if pa.types.is_integer(t):
        return each(array.to_pylist(), str)
    if pa.types.is_floating(t):
        return each(array.to_pylist(), lambda v: number(v, t == pa.float32()))
    if pa.types.is_decimal(t):
        return each(array.to_pylist(), lambda v: f'"{v:f}"')
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        return each(array.to_pylist(), quote)
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or pa.types.is_fixed_size_binary(t):
        return each(array.to_pylist(), lambda v: '"' + base64.b64encode(v).decode() + '"')
    if pa.types.is_date32(t):
        return each(array.cast(pa.int32()).to_pylist(), lambda v: f'"{date(v)}"')
    if pa.types.is_time(t):
        return each(array.cast(pa.int32() if t.bit_width == 32 else pa.int64()).to_pylist(),
                    lambda v: f'"{clock(v, t.unit, 3)}"')
    if pa.types.is_timestamp(t):
        return each(array.cast(pa.int64()).to_pylist(), lambda v: timestamp(v, t))
    if pa.types.is_map(t):
        return [pairs(array[i].values) if ok else "null" for i, ok in enumerate(valid)]
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return ["[" + ",".join(canonical(array[i].values)) + "]" if ok else "null" for i, ok in enumerate(valid)]
    if pa.types.is_struct(t):
        fields = [canonical(array.field(i)) for i in range(t.num_fields)]
        names = [quote(t.field(i).name) for i in range(t.num_fields)]
        return ["{" + ",".join(f"{n}:{f[i]}" for n, f in zip(names, fields)) + "}" if ok else "null"
                for i, ok in enumerate(valid)]
    raise TypeError(f"no canonical form for {t}")


def pairs(struct_array):
    keys, values = canonical(struct_array.field(0)), canonical(struct_array.field(1))
    return "[" + ",".join(sorted(f"[{k},{v}]" for k, v in zip(keys, values))) + "]"


def rows(table):
    names = [quote(n) for n in table.column_names]
    columns = [canonical(c) for c in table.columns]
    return ["{" + ",".join(f"{n}:{c[i]}" for n, c in zip(names, columns)) + "}" for i in range(table.num_rows)]


def order(array):
    """Values that sort as Paimon sorts keys of this type."""
    t = array.type
    if pa.types.is_floating(t):
        def total(v):  # Java's Double.compare: -0 before 0, NaN last
            bits = struct.unpack(">q", struct.pack(">d", math.nan if math.isnan(v) else v))[0]
            return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF) - 1
        return [total(v) for v in array.to_pylist()]
    if pa.types.is_string(t) or pa.types.is_large_string(t):
        return [v.encode() for v in array.to_pylist()]
    if pa.types.is_timestamp(t):
        return array.cast(pa.int64()).to_pylist()
    return array.to_pylist()


def sorted_rows(table, keys):
    texts = rows(table)
    if not keys:  # an append table: equal rows stay apart
        return sorted(texts)
    by_key = sorted(zip(zip(*(order(table[k]) for k in keys)), texts))
    return [text for _, text in by_key]


# ---- the two readers


class PyPaimon:
    """Pure Python: pypaimon leaves its rust reader off unless read.native.enabled is set."""

    def __init__(self, options, name, travel):
        from pypaimon import CatalogFactory
        self.table = CatalogFactory.create(options).get_table(name)
        if travel:
            self.table = self.table.copy(travel)
        self.keys = self.table.table_schema.primary_keys

    def read(self):
        builder = self.table.new_read_builder()
        return builder.new_read().to_arrow(builder.new_scan().plan().splits())

    def snapshots(self):
        manager = self.table.snapshot_manager()
        return manager.try_get_earliest_snapshot().id, manager.get_latest_snapshot().id

    def changes(self, snapshot):
        """The changelog rows of one snapshot, with a leading rowkind column."""
        builder = self.table.new_stream_read_builder().with_include_row_kind(True)
        scan = builder.new_streaming_scan()
        found = (self.table.snapshot_manager().get_snapshot_by_id(snapshot)
                 or self.table.changelog_manager().changelog(snapshot))
        if not scan.follow_up_scanner.should_scan(found):
            return None
        # scan.stream() would wait for ever at the end of the table; this is its inner step.
        return builder.new_read().to_arrow(scan._create_follow_up_plan(found).splits())


    def write(self, rows, overwrite):
        from pypaimon.schema.data_types import PyarrowFieldParser
        schema = PyarrowFieldParser.from_paimon_schema(self.table.table_schema.fields)
        builder = self.table.new_batch_write_builder()
        if overwrite:
            builder = builder.overwrite()
        write, commit = builder.new_write(), builder.new_commit()
        try:
            write.write_arrow(pa.Table.from_pylist(rows, schema=schema))
            commit.commit(write.prepare_commit())
        finally:
            write.close()
            commit.close()


class Rust:
    def __init__(self, options, name, travel):
        from pypaimon_rust.datafusion import PaimonCatalog
        self.table = PaimonCatalog(options).get_table(name)
        self.travel = travel
        self.keys = self.table.schema().primary_keys()

    def builder(self, options=None):
        return self.table.new_read_builder(options or None)

    @staticmethod
    def table_of(batches):
        return pa.Table.from_batches(batches) if batches else None

    def read(self):
        builder = self.builder(self.travel)
        return self.table_of(builder.new_read().read(builder.new_scan().plan().splits()))

    def snapshots(self):
        ids = [s.id() for s in self.table.list_snapshots()]
        return min(ids), max(ids)

    def changes(self, snapshot):
        """The changelog rows of one snapshot, with a leading rowkind column."""
        builder = self.builder().with_include_row_kind(True)
        plan = builder.new_incremental_scan(snapshot - 1, snapshot, "auto").plan()
        return self.table_of(builder.new_read().read(plan.splits()))


# ---- the command line


def arguments(words):
    parser = argparse.ArgumentParser(prog="readers.py", exit_on_error=False)
    parser.add_argument("--warehouse", required=True)
    parser.add_argument("--table", required=True)
    parser.add_argument("--impl", choices=["pypaimon", "rust"], default="pypaimon")
    parser.add_argument("--snapshot")
    parser.add_argument("--changelog", action="store_true")
    parser.add_argument("--from-snapshot", type=int)
    parser.add_argument("--to", type=int)
    parser.add_argument("--write")
    parser.add_argument("--overwrite", action="store_true")
    parser.add_argument("--option", action="append", default=[])
    return parser.parse_args(words)


def lines(words):
    """The lines that the command asks for."""
    if words[0] == "arrow":
        with pa.ipc.open_stream(words[1]) as stream:
            table = stream.read_all()
        table.validate(full=True)
        return rows(table)
    args = arguments(words)
    warehouse = args.warehouse if "://" in args.warehouse else os.path.abspath(args.warehouse)
    options = {"warehouse": warehouse, **dict(o.split("=", 1) for o in args.option)}
    travel = {"scan.snapshot-id": args.snapshot} if args.snapshot else {}
    reader = (Rust if args.impl == "rust" else PyPaimon)(options, args.table, travel)
    if args.write:
        with open(args.write, encoding="utf-8") as f:
            reader.write([json.loads(line) for line in f], args.overwrite)
        return []
    if not args.changelog:
        table = reader.read()
        return sorted_rows(table, reader.keys) if table is not None else []
    result = []
    first, last = reader.snapshots()
    for n in range(args.from_snapshot or first, (args.to or last) + 1):
        changes = reader.changes(n)
        if changes is not None:
            kinds = changes.column(0).to_pylist()
            for kind, row in zip(kinds, rows(changes.remove_column(0))):
                result.append(f'{{"snapshot":{n},"kind":"{kind}","row":{row}}}')
    return result


def serve(requests, out):
    for request in requests:
        request = json.loads(request)
        answer = {"id": request["id"], "rc": 0, "out": "", "err": ""}
        try:
            answer["out"] = "".join(line + "\n" for line in lines(request["words"]))
        except BaseException:  # a reader that fails is an answer, too; rust's panics are BaseExceptions
            answer.update(rc=1, err=traceback.format_exc())
        print(json.dumps(answer), file=out, flush=True)


def main():
    # Readers and their libraries print; only answers may reach stdout.
    out = open(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    if sys.argv[1:] == ["serve"]:
        serve(sys.stdin, out)
        return
    for line in lines(sys.argv[1:]):
        print(line, file=out)


if __name__ == "__main__":
    main()
