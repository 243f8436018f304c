package floor

import (
	"encoding/json"

	goccy "github.com/goccy/go-json"
)

// envelope is the event for decoders that go by reflection.
type envelope struct {
	Op     string `json:"op"`
	Before *image `json:"before"`
	After  *image `json:"after"`
}

type image struct {
	ID          int64   `json:"id"`
	Customer    int32   `json:"customer_id"`
	Product     int32   `json:"product_id"`
	Quantity    int32   `json:"quantity"`
	Region      int32   `json:"warehouse_id"`
	Amount      string  `json:"amount"`
	Description string  `json:"description"`
	Status      string  `json:"status"`
	Created     int64   `json:"created_at"`
	Updated     string  `json:"updated_at"`
	Active      bool    `json:"active"`
	Score       float64 `json:"score"`
}

func (v *image) row() Row {
	return Row{v.ID, v.Customer, v.Product, v.Quantity, v.Region, parseCents(v.Amount), v.Description, v.Status, v.Created, parseTime(v.Updated), v.Active, v.Score}
}

func (e *envelope) event() (o Event) {
	if len(e.Op) == 1 {
		o.Op = e.Op[0]
	}
	if o.HasBefore = e.Before != nil; o.HasBefore {
		o.Before = e.Before.row()
	}
	if o.HasAfter = e.After != nil; o.HasAfter {
		o.After = e.After.row()
	}
	return o
}

// DecodeStandard decodes with encoding/json into structs.
func DecodeStandard(b []byte, o *Event) error {
	var e envelope
	err := json.Unmarshal(b, &e)
	*o = e.event()
	return err
}

// DecodeGoccy decodes with github.com/goccy/go-json into structs.
func DecodeGoccy(b []byte, o *Event) error {
	var e envelope
	err := goccy.Unmarshal(b, &e)
	*o = e.event()
	return err
}
