package debezium

import (
	"context"

	"sink/table"
)

type avroSchema struct{}
type avroCache struct{}
type avroPlan struct{}
type avroRow struct{}

func (d *Decoder) avroHeader(f *Frame, what string) bool { return false }
func (d *Decoder) avroValue(ctx context.Context, f *Frame, b []byte) (*valueSchema, error) {
	return nil, nil
}
func (d *Decoder) avroKey(ctx context.Context, f *Frame, b []byte) error { return nil }
func (d *Decoder) classifyAvro(f *Frame) error                           { return nil }
func (f *Frame) avroSource(src *Source) error                            { return nil }
func (f *Frame) avroTransaction(dst []byte) ([]byte, error)              { return dst, nil }
func (p *Plan) bindAvro() error                                          { return nil }
func (p *Plan) appendAvro(f *Frame, dst *table.Batch, ev *Event) error   { return nil }
func (p *Plan) readAvroKey(f *Frame, dst *table.Batch, row int) error    { return nil }
