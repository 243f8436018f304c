package debezium

import (
	"errors"
	"fmt"

	"sink/table"
)

// Shape is what a record declares: the row type of its table, as Connect schema or Avro schema, and the record key. It
// is immutable, but for one goroutine at a time like the [Decoder] that made it.
type Shape struct {
	// Key has the key columns in the order of the key's schema, which is that of the source's PRIMARY KEY. nil when
	// the key is null or does not declare them; see [Frame.KeyNames].
	Key []string

	value *valueSchema
	key   *keySchema
}

// Fields returns the row type in the source's column order, with the Paimon types that t chooses. Field ids are zero;
// descriptions are the source's comments. Column defaults of the source are left out, because a Paimon writer would put
// them in place of NULLs. Of a flattened row, __deleted and __op are no columns. The error names all columns that have
// no Paimon type.
func (s *Shape) Fields(t Types) ([]table.Field, error) {
	return fieldsOf(s.value.row.members, t, s.value.kind == KindFlat)
}

// KeyFields returns the key columns in key order, with their types, NOT NULL as declared. A key column may be missing in
// [Shape.Fields] (ByLogicalTableRouter adds one): a [Plan] reads such a column from the record key.
func (s *Shape) KeyFields(t Types) ([]table.Field, error) {
	if s.key == nil || s.key.row.sort != sortStruct {
		return nil, nil
	}
	return fieldsOf(s.key.row.members, t, false)
}

func fieldsOf(members []member, t Types, flat bool) ([]table.Field, error) {
	var fields []table.Field
	var errs []error
	for i := range members {
		m := &members[i]
		if flat && specialOf(m.name) != notSpecial {
			continue
		}
		typ, err := m.natural(&t)
		if err != nil {
			errs = append(errs, fmt.Errorf("column %s: %w", m.name, err))
		}
		fields = append(fields, table.Field{Name: m.name, Type: typ, Description: m.doc})
	}
	return fields, errors.Join(errs...)
}

// Name returns the name of the row type, such as "shop.public.orders.Value"; for messages only.
func (s *Shape) Name() string { return s.value.row.name }
