package table

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The snapshot properties in which a snapshot of ours tells of its source. commit adds PropertyCheckpoint and PropertyParent.
const (
	PropertyOffsets     = "sink.offsets"      // JSON array of the whole map, by topic, id and partition
	PropertyMaxSequence = "sink.max-sequence" // decimal
	PropertyLearned     = "sink.learned"      // JSON object of texts; absent when empty
	PropertyCheckpoint  = "sink.checkpoint"   // random, one a Delta: tells our snapshot from another's
	PropertyParent      = "sink.parent"       // uuid of the snapshot that it was built on, empty for one without; absent in the first
)

// offsetJSON is one partition in PropertyOffsets.
type offsetJSON struct {
	Topic     string `json:"topic"`
	ID        string `json:"id,omitempty"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	Epoch     int32  `json:"epoch"`
}

// EncodeProperties returns the properties that carry a progress. Equal progresses give equal bytes.
func (p Progress) EncodeProperties() map[string]string {
	list := make([]offsetJSON, 0, len(p.Offsets))
	for tp, c := range p.Offsets {
		list = append(list, offsetJSON{Topic: tp.Topic, ID: c.TopicID, Partition: tp.Partition, Offset: c.Offset, Epoch: c.Epoch})
	}
	slices.SortFunc(list, func(a, b offsetJSON) int {
		if c := strings.Compare(a.Topic, b.Topic); c != 0 {
			return c
		}
		return int(a.Partition) - int(b.Partition)
	})
	out := map[string]string{
		PropertyOffsets:     textJSON(list),
		PropertyMaxSequence: strconv.FormatInt(p.MaxSequence, 10),
	}
	if len(p.Learned) > 0 {
		out[PropertyLearned] = textJSON(p.Learned)
	}
	return out
}

// textJSON encodes what cannot fail: structs and maps of texts and numbers.
func textJSON(v any) string {
	b, err := encodeJSON(v)
	if err != nil {
		panic("table: encode progress: " + err.Error())
	}
	return string(b)
}

// ParseProgress reads the properties of a snapshot. ours is false, without an error, for a snapshot that carries no
// offsets: somebody else's.
func ParseProgress(properties map[string]string) (p Progress, ours bool, err error) {
	text, ours := properties[PropertyOffsets]
	if !ours {
		return Progress{}, false, nil
	}
	var list []offsetJSON
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return Progress{}, true, fmt.Errorf("property %s: %w", PropertyOffsets, err)
	}
	p.Offsets = make(Offsets, len(list))
	for _, o := range list {
		tp := TopicPartition{Topic: o.Topic, Partition: o.Partition}
		if _, twice := p.Offsets[tp]; twice || o.Topic == "" || o.Partition < 0 || o.Offset < 0 {
			return Progress{}, true, fmt.Errorf("property %s: partition %d of topic %q is not valid or there twice",
				PropertyOffsets, o.Partition, o.Topic)
		}
		p.Offsets[tp] = Cursor{Offset: o.Offset, Epoch: o.Epoch, TopicID: o.ID}
	}
	if p.MaxSequence, err = strconv.ParseInt(properties[PropertyMaxSequence], 10, 64); err != nil {
		return Progress{}, true, fmt.Errorf("property %s is %q, but has to be a number", PropertyMaxSequence, properties[PropertyMaxSequence])
	}
	if text := properties[PropertyLearned]; text != "" {
		if err := json.Unmarshal([]byte(text), &p.Learned); err != nil {
			return Progress{}, true, fmt.Errorf("property %s: %w", PropertyLearned, err)
		}
	}
	return p, true, nil
}
