package table

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func fieldsOf(t testing.TB, pairs ...string) (out []Field) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Field{Name: pairs[i], Type: mustType(t, pairs[i+1])})
	}
	return out
}

func TestEvolve(t *testing.T) {
	s := NewSchema(fieldsOf(t, "id", "INT", "dt", "DATE", "a", "INT NOT NULL", "b", "DECIMAL(5, 2)"), []string{"id", "dt"}, []string{"dt"}, map[string]string{"bucket": "1"})
	s.ID, s.TimeMillis, s.HighestFieldID = 3, 99, 10 // ids 4 to 10 were dropped

	same, changes, err := Evolve(s, fieldsOf(t, "b", "DECIMAL(4, 2)", "id", "SMALLINT NOT NULL", "dt", "DATE", "a", "TINYINT NOT NULL"))
	require.NoError(t, err)
	require.Empty(t, changes)
	require.Same(t, s, same)

	before := s.Clone()
	want := fieldsOf(t, "id", "INT", "new", "STRING NOT NULL", "b", "DECIMAL(8, 4)", "r", "ROW<x INT, y ROW<z INT>>", "dt", "DATE")
	want[2].Description = "net"
	got, changes, err := Evolve(s, want)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(before, s), "the old schema is as it was")
	require.EqualValues(t, 4, got.ID)
	require.EqualValues(t, 99, got.TimeMillis)
	require.Equal(t, 15, got.HighestFieldID)
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	require.Equal(t, []string{
		"add new: STRING",
		"widen b: DECIMAL(5, 2) to DECIMAL(8, 4)",
		"describe b",
		"add r: ROW<`x` INT, `y` ROW<`z` INT>>",
		"relax a: INT NOT NULL to INT",
	}, lines)
	expected := fieldsOf(t, "id", "INT NOT NULL", "dt", "DATE NOT NULL", "a", "INT", "b", "DECIMAL(8, 4)", "new", "STRING", "r", "ROW<x INT, y ROW<z INT>>")
	for i, id := range []int{0, 1, 2, 3, 11, 12} {
		expected[i].ID = id
	}
	expected[3].Description = "net"
	r := expected[5].Type.Fields
	r[0].ID, r[1].Type.Fields[0].ID, r[1].ID = 13, 14, 15
	require.Empty(t, cmp.Diff(expected, got.Fields))
	require.NoError(t, got.Validate())

	again, changes, err := Evolve(got, want)
	require.NoError(t, err)
	require.Empty(t, changes)
	require.Same(t, got, again)
}

func TestEvolveNested(t *testing.T) {
	s := NewSchema(fieldsOf(t, "id", "INT", "r", "ROW<x INT, gone INT NOT NULL>", "m", "MAP<STRING NOT NULL, ROW<a INT NOT NULL>>"), []string{"id"}, nil, nil)
	got, changes, err := Evolve(s, fieldsOf(t, "id", "INT", "r", "ROW<x BIGINT, y STRING NOT NULL> NOT NULL", "m", "MAP<STRING NOT NULL, ROW<a INT>>"))
	require.NoError(t, err)
	require.Len(t, changes, 2)
	require.Equal(t, "ROW<`x` BIGINT, `gone` INT, `y` STRING>", got.Fields[1].Type.String())
	require.Equal(t, 6, got.Fields[1].Type.Fields[2].ID)
	require.Equal(t, 6, got.HighestFieldID)
	require.Equal(t, "MAP<STRING NOT NULL, ROW<`a` INT>>", got.Fields[2].Type.String())
	require.Equal(t, "ROW<`x` INT, `gone` INT NOT NULL>", s.Fields[1].Type.String(), "the old schema is as it was")
}

func TestWiden(t *testing.T) {
	for _, c := range []struct{ have, want, result string }{
		{"INT", "BIGINT", "BIGINT"},
		{"BIGINT", "TINYINT", "BIGINT"},
		{"FLOAT", "DOUBLE", "DOUBLE"},
		{"DOUBLE", "FLOAT", "DOUBLE"},
		{"INT", "FLOAT", ""},
		{"INT", "DECIMAL(20, 0)", "DECIMAL(20, 0)"},
		{"BIGINT", "DECIMAL(10, 2)", "DECIMAL(21, 2)"},
		{"DECIMAL(10, 2)", "INT", "DECIMAL(12, 2)"},
		{"DECIMAL(10, 2)", "DECIMAL(8, 4)", "DECIMAL(12, 4)"},
		{"DECIMAL(38, 2)", "DECIMAL(38, 10)", ""},
		{"DECIMAL(38, 30)", "BIGINT", ""},
		{"VARCHAR(5)", "VARCHAR(9)", "VARCHAR(9)"},
		{"STRING", "VARCHAR(9)", "STRING"},
		{"CHAR(5)", "CHAR(5)", "CHAR(5)"},
		{"CHAR(5)", "CHAR(3)", "CHAR(5)"},
		{"CHAR(5)", "CHAR(9)", "VARCHAR(9)"},
		{"CHAR(5)", "VARCHAR(2)", "VARCHAR(5)"},
		{"VARCHAR(5)", "CHAR(9)", "VARCHAR(9)"},
		{"BINARY(5)", "BINARY(9)", "VARBINARY(9)"},
		{"BINARY(5)", "BYTES", "BYTES"},
		{"STRING", "BYTES", ""},
		{"STRING", "INT", ""},
		{"INT", "STRING", ""},
		{"BOOLEAN", "INT", ""},
		{"TIMESTAMP(3)", "TIMESTAMP(6)", "TIMESTAMP(6)"},
		{"TIMESTAMP(6)", "TIMESTAMP(3)", "TIMESTAMP(6)"},
		{"TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", ""},
		{"TIME(3)", "TIME(0)", "TIME(3)"},
		{"TIME(0)", "TIME(3)", ""},
		{"DATE", "TIMESTAMP(3)", ""},
		{"ARRAY<INT>", "ARRAY<BIGINT>", "ARRAY<BIGINT>"},
		{"ARRAY<INT>", "ARRAY<STRING>", ""},
		{"ARRAY<INT>", "MULTISET<INT>", ""},
		{"MAP<INT, INT>", "MAP<BIGINT, INT>", ""},
		{"MULTISET<INT>", "MULTISET<BIGINT>", ""},
		{"ROW<a INT>", "ROW<a STRING>", ""},
	} {
		s := NewSchema(fieldsOf(t, "id", "INT", "c", c.have), []string{"id"}, nil, nil)
		got, changes, err := Evolve(s, fieldsOf(t, "id", "INT", "c", c.want))
		if c.result == "" {
			var incompatible *IncompatibleError
			require.True(t, errors.As(err, &incompatible), "%s and %s", c.have, c.want)
			require.Equal(t, "c", incompatible.Column)
			require.ErrorContains(t, err, "column c is "+incompatible.Have.String()+", which cannot take in "+incompatible.Want.String())
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.result, got.Fields[1].Type.String(), "%s and %s", c.have, c.want)
		require.Equal(t, c.have != c.result, len(changes) == 1)
		require.True(t, CanCast(s.Fields[1].Type, got.Fields[1].Type), "%s to %s", c.have, c.result)
	}
}

func TestEvolveRefuses(t *testing.T) {
	s := NewSchema(fieldsOf(t, "id", "INT", "v", "TIME(0)"), []string{"id"}, nil, nil)
	_, _, err := Evolve(s, fieldsOf(t, "id", "BIGINT"))
	require.ErrorContains(t, err, "column id is INT NOT NULL, which cannot take in BIGINT: the type of a primary key")
	_, _, err = Evolve(s, fieldsOf(t, "v", "TIME(3)"))
	require.ErrorContains(t, err, "Paimon cannot change the precision of a TIME")
	_, _, err = Evolve(s, fieldsOf(t, "x", "INT", "x", "INT"))
	require.ErrorContains(t, err, "two wanted columns are named x")
	_, _, err = Evolve(s, fieldsOf(t, "_ROW_ID", "INT"))
	require.ErrorContains(t, err, "column _ROW_ID has a name that Paimon keeps for itself")
}
