package change

import "sink/table"

// Schema is the benchmark's table of these columns, in 4 buckets.
func Schema(columns []Column) (*table.Schema, error) {
	var fields []table.Field
	for _, c := range columns {
		t, err := table.ParseType(c.Paimon())
		if err != nil {
			return nil, err
		}
		fields = append(fields, table.Field{Name: c.Name, Type: t})
	}
	s := table.NewSchema(fields, []string{"id"}, nil, map[string]string{"bucket": "4", "changelog-producer": "input"})
	return s, s.Validate()
}
