package change

import "fmt"

// Kind is how Debezium tells a column's values.
type Kind uint8

// The kinds.
const (
	BigInt  Kind = iota // int64
	Int                 // int32
	Decimal             // DECIMAL(12, 2): text in JSON without schema (decimal.handling.mode=string), else org.apache.kafka.connect.data.Decimal
	Text                // string
	Micros              // io.debezium.time.MicroTimestamp
	Zoned               // io.debezium.time.ZonedTimestamp
	Bool                // boolean
	Double              // double
)

// Column is one of a table.
type Column struct {
	Name string
	Kind Kind
}

// Paimon returns the column's type in a table of Paimon.
func (c Column) Paimon() string {
	if c.Name == "id" {
		return "BIGINT NOT NULL"
	}
	return [...]string{"BIGINT", "INT", "DECIMAL(12, 2)", "STRING", "TIMESTAMP(6)", "TIMESTAMP(6) WITH LOCAL TIME ZONE", "BOOLEAN", "DOUBLE"}[c.Kind]
}

// Least is how many columns a table has.
const Least = 12

// Columns returns the columns of a table of n: those of an order, and fillers of all kinds beside them.
func Columns(n int) []Column {
	columns := []Column{
		{"id", BigInt},
		{"customer_id", Int},
		{"product_id", Int},
		{"quantity", Int},
		{"warehouse_id", Int},
		{"amount", Decimal},
		{"description", Text},
		{"status", Text},
		{"created_at", Micros},
		{"updated_at", Zoned},
		{"active", Bool},
		{"score", Double},
	}
	fillers := []Kind{Int, Text, Double, Micros, BigInt, Text}
	for i := Least; i < n; i++ {
		columns = append(columns, Column{fmt.Sprintf("filler_%03d", i), fillers[i%len(fillers)]})
	}
	return columns
}
