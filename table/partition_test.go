package table

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type partitionVector struct {
	Type   Type
	Value  json.RawMessage
	Legacy *string
	Plain  *string
}

func TestPartitionVectors(t *testing.T) {
	jsonLines(t, "partitions.jsonl.gz", func(c partitionVector) {
		if string(c.Value) == "-0" && isFloat(c.Type.Root) {
			return // Jackson read it as an integer
		}
		row := string(EncodeRow(nil, []Type{c.Type}, []*Vector{cells(t, c.Type, string(c.Value))}, 0))
		for legacy, want := range map[string]*string{"true": c.Legacy, "false": c.Plain} {
			s := NewSchema([]Field{{Name: "p", Type: c.Type}}, nil, []string{"p"}, map[string]string{"partition.legacy-name": legacy})
			got, err := PartitionPath(s, row)
			if want == nil {
				require.ErrorContains(t, err, "set partition.legacy-name to false")
				continue
			}
			if strings.Contains(*want, "\ufffd") {
				require.ErrorContains(t, err, "no UTF-8")
				continue
			}
			require.NoError(t, err)
			require.Equal(t, *want, got, "%s %s, legacy-name %s", c.Type, c.Value, legacy)
		}
	})
}

// TestPartitionPathGolden holds paths of tables that Paimon wrote.
func TestPartitionPathGolden(t *testing.T) {
	values := []json.RawMessage{[]byte(`"1969-12-31"`), []byte(`-5`), []byte(`false`), []byte(`"1969-12-31T23:59:59"`), []byte(`"-0.01"`), []byte(`"t"`)}
	s, err := ParseSchema(readSchema(t, "parttypes-0"))
	require.NoError(t, err)
	types := s.TypesOf(s.Indexes(s.PartitionKeys))
	row := string(NewRowEncoder(types, allColumns(6)).Append(nil, oneRow(t, types, values), 0))

	got, err := PartitionPath(s, row)
	require.NoError(t, err)
	require.Equal(t, "p_date=1969-12-31/p_int=-5/p_bool=false/p_ts=1969-12-31 23%3A59%3A59.000/p_dec=-0.01/p_str=t/", got)

	legacy := s.Clone()
	legacy.Options["partition.legacy-name"] = "true"
	got, err = PartitionPath(legacy, row)
	require.NoError(t, err)
	require.Equal(t, "p_date=-1/p_int=-5/p_bool=false/p_ts=1969-12-31T23%3A59%3A59/p_dec=-0.01/p_str=t/", got)

	texts, err := PartitionValues(s, row)
	require.NoError(t, err)
	require.Equal(t, "1969-12-31|-5|false|1969-12-31 23:59:59.000|-0.01|t", strings.Join(texts, "|"))
}

func TestPartitionPathDefaults(t *testing.T) {
	text := Type{Root: VarChar, Length: MaxLength}
	s := NewSchema([]Field{{Name: "a b", Type: text}, {Name: "q", Type: Type{Root: Int}}}, nil, []string{"a b", "q"},
		map[string]string{"partition.default-name": "none"})
	row := EncodeRow(nil, []Type{text, {Root: Int}}, []*Vector{cells(t, text, `" "`), cells(t, Type{Root: Int}, `null`)}, 0)
	got, err := PartitionPath(s, string(row))
	require.NoError(t, err)
	require.Equal(t, "a b=none/q=none/", got)

	got, err = PartitionPath(NewSchema(nil, nil, nil, nil), EmptyRow)
	require.NoError(t, err)
	require.Empty(t, got)
	_, err = PartitionPath(s, EmptyRow)
	require.ErrorContains(t, err, "partition: row has 0 fields, but 2 are expected")
}
