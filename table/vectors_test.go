package table

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fixture returns a file of testdata, unpacked.
func fixture(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	return b
}

// jsonLines calls f with each line of a fixture, decoded.
func jsonLines[T any](t *testing.T, name string, f func(v T)) {
	t.Helper()
	lines, n := bufio.NewScanner(bytes.NewReader(fixture(t, name))), 0
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v T
		require.NoError(t, json.Unmarshal(lines.Bytes(), &v), "%s", lines.Text())
		f(v)
		n++
	}
	require.NoError(t, lines.Err())
	require.NotZero(t, n)
}

func mustType(t testing.TB, s string) Type {
	t.Helper()
	typ, err := ParseType(s)
	require.NoError(t, err)
	return typ
}

// decoded reads JSON with its numbers as they are spelt.
func decoded(t testing.TB, raw []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v), "%s", raw)
	return v
}

// cells makes a vector of values in canonical JSON.
func cells(t testing.TB, typ Type, values ...string) *Vector {
	t.Helper()
	v := &Vector{Layout: typ.Layout()}
	for _, text := range values {
		appendCanonicalJSON(t, v, &typ, decoded(t, []byte(text)))
	}
	return v
}

// oneRow makes a batch of one row of values in canonical JSON.
func oneRow(t testing.TB, types []Type, values []json.RawMessage) *Batch {
	t.Helper()
	require.Len(t, values, len(types))
	b := &Batch{Kinds: []Kind{Insert}}
	for i, typ := range types {
		b.Columns = append(b.Columns, *cells(t, typ, string(values[i])))
	}
	return b
}

func appendCanonicalJSON(t testing.TB, v *Vector, typ *Type, value any) {
	t.Helper()
	switch {
	case value == nil:
		v.AppendNull()
	case typ.Nested():
		v.Data = appendNestedJSON(t, v.Data, typ, value)
		v.EndCell()
	case v.Layout == Words:
		v.AppendWord(wordOf(t, typ, value))
	default:
		v.AppendBytes(bytesOf(t, typ, value))
	}
}

func wordOf(t testing.TB, typ *Type, value any) int64 {
	t.Helper()
	switch typ.Root {
	case Boolean:
		if value.(bool) {
			return 1
		}
		return 0
	case Float:
		f, err := strconv.ParseFloat(jsonText(value), 32)
		require.NoError(t, err)
		return int64(math.Float32bits(float32(f)))
	case Double:
		f, err := strconv.ParseFloat(jsonText(value), 64)
		require.NoError(t, err)
		return int64(math.Float64bits(f))
	case Decimal:
		v := &Vector{Layout: Words}
		require.NoError(t, AppendDecimalText(v, typ, []byte(jsonText(value))))
		return v.Words[0]
	case Date:
		days, ok := ParseDate([]byte(jsonText(value)))
		require.True(t, ok, value)
		return days
	case Time:
		nanos, ok := ParseClock([]byte(jsonText(value)))
		require.True(t, ok, value)
		return nanos / nanosPerMilli
	case Timestamp, LocalTimestamp:
		v := &Vector{Layout: Words}
		appendTimestampText(t, v, typ, jsonText(value))
		return v.Words[0]
	}
	n, err := strconv.ParseInt(jsonText(value), 10, 64)
	require.NoError(t, err)
	return n
}

func jsonText(value any) string {
	if n, ok := value.(json.Number); ok {
		return n.String()
	}
	return value.(string)
}

func appendTimestampText(t testing.TB, v *Vector, typ *Type, text string) {
	t.Helper()
	seconds, nanos, ok := parseDateTime([]byte(strings.Replace(strings.TrimSuffix(text, "Z"), "T", " ", 1)))
	require.True(t, ok, text)
	require.NoError(t, AppendTimestamp(v, typ, seconds, nanos))
}

func bytesOf(t testing.TB, typ *Type, value any) []byte {
	t.Helper()
	switch typ.Root {
	case Binary, VarBinary:
		b, err := base64.StdEncoding.DecodeString(value.(string))
		require.NoError(t, err)
		return b
	case Decimal:
		v := &Vector{Layout: Bytes}
		require.NoError(t, AppendDecimalText(v, typ, []byte(jsonText(value))))
		return v.Bytes(0)
	case Timestamp, LocalTimestamp:
		v := &Vector{Layout: Bytes}
		appendTimestampText(t, v, typ, jsonText(value))
		return v.Bytes(0)
	}
	return []byte(value.(string))
}

// appendNestedJSON writes a nested cell of a value in canonical JSON.
func appendNestedJSON(t testing.TB, dst []byte, typ *Type, value any) []byte {
	t.Helper()
	switch typ.Root {
	case RowType:
		for i := range typ.Fields {
			dst = appendNestedValueJSON(t, dst, &typ.Fields[i].Type, value.(map[string]any)[typ.Fields[i].Name])
		}
		return dst
	case Map, Multiset:
		key, element := typ.Key, typ.Element
		if typ.Root == Multiset {
			key, element = typ.Element, &countType
		}
		for _, pair := range value.([]any) {
			dst = appendNestedValueJSON(t, dst, key, pair.([]any)[0])
			dst = appendNestedValueJSON(t, dst, element, pair.([]any)[1])
		}
	default:
		for _, e := range value.([]any) {
			dst = appendNestedValueJSON(t, dst, typ.Element, e)
		}
	}
	return EndNested(dst)
}

func appendNestedValueJSON(t testing.TB, dst []byte, typ *Type, value any) []byte {
	t.Helper()
	switch {
	case value == nil:
		return AppendNestedNull(dst)
	case typ.Nested():
		return appendNestedJSON(t, OpenNested(dst), typ, value)
	case typ.Layout() == Words:
		return AppendNestedWord(dst, wordOf(t, typ, value))
	}
	return AppendNestedBytes(dst, bytesOf(t, typ, value))
}

// canonical returns the canonical JSON of a cell.
func canonical(typ Type, v *Vector, row int) string { return string(AppendCanonical(nil, typ, v, row)) }
