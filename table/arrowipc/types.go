package arrowipc

import (
	"github.com/apache/arrow-go/v18/arrow"

	"sink/table"
)

// schemaOf returns the Arrow schema of columns.
func schemaOf(fields []table.Field) *arrow.Schema {
	columns := make([]arrow.Field, len(fields))
	for i := range fields {
		columns[i] = arrow.Field{Name: fields[i].Name, Type: typeOf(&fields[i].Type), Nullable: true}
	}
	return arrow.NewSchema(columns, nil)
}

// typeOf returns the Arrow type that holds the values of a Paimon type.
func typeOf(t *table.Type) arrow.DataType {
	switch t.Root {
	case table.Boolean:
		return arrow.FixedWidthTypes.Boolean
	case table.TinyInt:
		return arrow.PrimitiveTypes.Int8
	case table.SmallInt:
		return arrow.PrimitiveTypes.Int16
	case table.Int:
		return arrow.PrimitiveTypes.Int32
	case table.BigInt:
		return arrow.PrimitiveTypes.Int64
	case table.Float:
		return arrow.PrimitiveTypes.Float32
	case table.Double:
		return arrow.PrimitiveTypes.Float64
	case table.Decimal:
		return &arrow.Decimal128Type{Precision: int32(t.Precision), Scale: int32(t.Scale)}
	case table.Char, table.VarChar:
		return arrow.BinaryTypes.String
	case table.Binary, table.VarBinary:
		return arrow.BinaryTypes.Binary
	case table.Date:
		return arrow.FixedWidthTypes.Date32
	case table.Time:
		return arrow.FixedWidthTypes.Time32ms
	case table.Timestamp:
		return &arrow.TimestampType{Unit: unitOf(t.Precision)}
	case table.LocalTimestamp:
		return &arrow.TimestampType{Unit: unitOf(t.Precision), TimeZone: "UTC"}
	}
	return nestedTypeOf(t)
}

func nestedTypeOf(t *table.Type) arrow.DataType {
	switch t.Root {
	case table.Array:
		return arrow.ListOfField(arrow.Field{Name: "item", Type: typeOf(t.Element), Nullable: !t.Element.NotNull})
	case table.Map:
		m := arrow.MapOf(typeOf(t.Key), typeOf(t.Element))
		m.SetItemNullable(!t.Element.NotNull)
		return m
	case table.Multiset:
		m := arrow.MapOf(typeOf(t.Element), arrow.PrimitiveTypes.Int32)
		m.SetItemNullable(false)
		return m
	}
	members := make([]arrow.Field, len(t.Fields))
	for i := range t.Fields {
		members[i] = arrow.Field{Name: t.Fields[i].Name, Type: typeOf(&t.Fields[i].Type), Nullable: !t.Fields[i].Type.NotNull}
	}
	return arrow.StructOf(members...)
}

// unitOf is the unit in which cells of a TIMESTAMP are counted. Precision 0 is not in seconds: other writers may have left a fraction.
func unitOf(precision int) arrow.TimeUnit {
	switch {
	case precision <= 3:
		return arrow.Millisecond
	case precision <= 6:
		return arrow.Microsecond
	}
	return arrow.Nanosecond
}
