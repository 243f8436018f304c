package debezium

import "sink/table"

// Shape is what a record declares: the row type of its table, as Connect schema or Avro schema, and the record key. It
// is immutable.
type Shape struct {
	// Key has the key columns in the order of the key's schema, which is that of the source's PRIMARY KEY. nil when
	// the key is null or does not declare them; see [Frame.KeyNames].
	Key []string
}

// Fields returns the row type in the source's column order, with the Paimon types that [Types] chooses. Field ids are
// zero; descriptions are the source's comments, defaults its column defaults.
func (s *Shape) Fields(t Types) []table.Field { return nil }

// KeyFields returns the key columns in key order, with their types. A key column may be missing in [Shape.Fields]
// (ByLogicalTableRouter adds one): a [Plan] reads such a column from the record key.
func (s *Shape) KeyFields(t Types) []table.Field { return nil }

// Name returns the name of the row type, such as "shop.public.orders.Value"; for messages only.
func (s *Shape) Name() string { return "" }
