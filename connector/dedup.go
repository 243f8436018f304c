package connector

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"

	"sink/debezium"
	"sink/table"
)

// reached is how far the events of one source have come in one Kafka partition: the highest position in commit order, and
// the events met at that very position, since a delete and a create of a changed key share one.
type reached struct {
	position debezium.Position
	millis   int64    // commit time of the event there
	events   []uint64 // hashes of op and key
}

// sighting is an event of a source, by its place in the source's history; zero for one that has none, and is never taken for a repeat.
type sighting struct {
	source   string
	position debezium.Position
	millis   int64
	event    uint64 // hash of op and key
	beside   bool   // at the very position that its source has reached, else beyond
}

// repeated reports whether Debezium has sent the event at hand before. One that it has not is remembered when it has been handled (see
// handle): a record that stops the table comes again, and so may one that has a checkpoint made of those before it.
func (w *worker) repeated(p *partition) (bool, error) {
	source, err := w.intake.frame.Source()
	if err != nil {
		return false, err
	}
	seen, repeat, err := p.sight(&source, w.intake.frame.Op, w.intake.record.Key)
	if err != nil {
		return false, fmt.Errorf("%s: %w", w.at(), err)
	}
	w.intake.sighted = seen
	return repeat, nil
}

// sight reports whether Debezium has sent an event before: it repeats what it had not yet
// acknowledged when it was restarted. Only an event at or before the position that its source has reached in this partition can
// be one. Rows of snapshots share one position, or have none: they are never taken for repeats. What is no repeat is to be
// remembered.
func (p *partition) sight(source *debezium.Source, op debezium.Op, key []byte) (seen sighting, repeat bool, err error) {
	if source.Snapshot != debezium.SnapshotNone || !source.Position.Known() {
		return sighting{}, false, nil
	}
	seen = sighting{source: source.Name, position: source.Position, millis: source.TsMillis, event: eventHash(op, key)}
	last := p.reached[source.Name]
	if last == nil {
		return seen, false, nil
	}
	order, comparable := source.Position.Compare(last.position)
	switch {
	case !comparable, order < 0 && source.TsMillis > last.millis:
		return sighting{}, false, fmt.Errorf("the history of source %s has begun anew: position %s cannot follow %s (failover, RESET, a new server): deduplicate cannot tell repeats from new events; "+
			"set deduplicate to none, or begin a new table", source.Name, source.Position, last.position)
	case order < 0, order == 0 && slices.Contains(last.events, seen.event):
		return sighting{}, true, nil
	}
	seen.beside = order == 0
	return seen, false, nil
}

// remember notes an event that was not there before.
func (p *partition) remember(s *sighting) {
	if !s.position.Known() {
		return
	}
	switch last := p.reached[s.source]; {
	case last == nil:
		p.reached[s.source] = &reached{s.position, s.millis, []uint64{s.event}}
	case s.beside:
		last.events = append(last.events, s.event)
	default:
		last.position, last.millis, last.events = s.position, s.millis, append(last.events[:0], s.event)
	}
}

// copyOf returns what sources have reached, to go back to.
func copyOf(sources map[string]*reached) map[string]*reached {
	out := make(map[string]*reached, len(sources))
	for name, r := range sources {
		out[name] = &reached{r.position, r.millis, slices.Clone(r.events)}
	}
	return out
}

func eventHash(op debezium.Op, key []byte) uint64 {
	h := fnv.New64a()
	h.Write([]byte{byte(op)})
	h.Write(key)
	return h.Sum64()
}

func reachedPrefix(tp table.TopicPartition) string { return "position/" + lagKey(tp) + "/" }

// String returns what [parseReached] reads: "<position> <millis> <hash>,<hash>".
func (r *reached) String() string {
	hashes := make([]string, len(r.events))
	for i, h := range r.events {
		hashes[i] = strconv.FormatUint(h, 16)
	}
	return fmt.Sprintf("%s %d %s", r.position, r.millis, strings.Join(hashes, ","))
}

// reachedIn returns how far a partition's sources had come at a snapshot, by source.
func reachedIn(learned map[string]string, tp table.TopicPartition) (map[string]*reached, error) {
	out := map[string]*reached{}
	for name, text := range learned {
		source, ok := strings.CutPrefix(name, reachedPrefix(tp))
		if !ok {
			continue
		}
		r, err := parseReached(text)
		if err != nil {
			return nil, fmt.Errorf("what the snapshot says under %s: %w", name, err)
		}
		out[source] = r
	}
	return out, nil
}

func parseReached(text string) (*reached, error) {
	words := strings.Split(text, " ")
	if len(words) != 3 {
		return nil, fmt.Errorf("%q has %d words instead of 3", text, len(words))
	}
	position, err := debezium.ParsePosition(words[0])
	if err != nil {
		return nil, err
	}
	millis, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return nil, err
	}
	r := &reached{position: position, millis: millis}
	for hash := range strings.SplitSeq(words[2], ",") {
		h, err := strconv.ParseUint(hash, 16, 64)
		if err != nil {
			return nil, err
		}
		r.events = append(r.events, h)
	}
	return r, nil
}
