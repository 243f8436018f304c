package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"sink/table"
	"sink/table/object"
)

// Tag is the file tag/tag-NAME: a snapshot that is kept under a name (org.apache.paimon.tag.Tag).
type Tag struct {
	Name     string
	Snapshot *Snapshot
	Created  time.Time     // zero: not written down. Paimon writes local time without a zone; it is taken for UTC
	Retained time.Duration // 0: until it is deleted
}

// tagJSON holds the members that a tag has beside those of its snapshot.
type tagJSON struct {
	CreateTime []int        `json:"tagCreateTime,omitempty"`
	Retained   *json.Number `json:"tagTimeRetained,omitempty"`
}

// ReadTag returns a tag; fs.ErrNotExist if there is none.
func ReadTag(ctx context.Context, store object.Store, path table.Path, name string) (*Tag, error) {
	if err := checkName("tag", name); err != nil {
		return nil, err
	}
	b, err := store.Get(ctx, path.Tag(name))
	if err != nil {
		return nil, fmt.Errorf("read tag %s: %w", name, err)
	}
	t, err := parseTag(name, b)
	if err != nil {
		return nil, fmt.Errorf("read tag %s: %w", name, err)
	}
	return t, nil
}

func parseTag(name string, b []byte) (*Tag, error) {
	s, err := ParseSnapshot(b)
	if err != nil {
		return nil, err
	}
	var j tagJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, err
	}
	delete(s.Unknown, "tagCreateTime")
	delete(s.Unknown, "tagTimeRetained")
	if len(s.Unknown) == 0 {
		s.Unknown = nil
	}
	t := &Tag{Name: name, Snapshot: s}
	if c := j.CreateTime; c != nil {
		// Java leaves zero seconds and nanoseconds out: [year, month, day, hour, minute(, second(, nanosecond))].
		if len(c) < 5 || len(c) > 7 {
			return nil, fmt.Errorf("tagCreateTime has %d parts", len(c))
		}
		c = append(c, 0, 0)
		t.Created = time.Date(c[0], time.Month(c[1]), c[2], c[3], c[4], c[5], c[6], time.UTC)
	}
	if j.Retained != nil {
		if t.Retained, err = time.ParseDuration(j.Retained.String() + "s"); err != nil {
			return nil, fmt.Errorf("tagTimeRetained %s: %w", *j.Retained, err)
		}
	}
	return t, nil
}

// CreateTag writes a tag if there is none of its name, else fs.ErrExist. Tags keep the data files that their snapshot's
// base and delta lists name from expiry.
func CreateTag(ctx context.Context, store object.Store, path table.Path, t *Tag) error {
	if err := checkName("tag", t.Name); err != nil {
		return err
	}
	b, err := t.encode()
	if err != nil {
		return fmt.Errorf("tag %s: %w", t.Name, err)
	}
	if err := store.Create(ctx, path.Tag(t.Name), b); err != nil {
		return fmt.Errorf("create tag %s: %w", t.Name, err)
	}
	return nil
}

func (t *Tag) encode() ([]byte, error) {
	s := *t.Snapshot
	s.Unknown = make(map[string]json.RawMessage)
	for k, v := range t.Snapshot.Unknown {
		s.Unknown[k] = v
	}
	if !t.Created.IsZero() {
		c := t.Created.UTC()
		s.Unknown["tagCreateTime"] = fmt.Appendf(nil, "[%d,%d,%d,%d,%d,%d,%d]", c.Year(), c.Month(), c.Day(), c.Hour(),
			c.Minute(), c.Second(), c.Nanosecond())
	}
	if t.Retained > 0 {
		s.Unknown["tagTimeRetained"] = fmt.Appendf(nil, "%d.%09d", t.Retained/time.Second, t.Retained%time.Second)
	}
	return s.Encode()
}

// TagNames returns the names of all tags in name order.
func TagNames(ctx context.Context, store object.Store, path table.Path) ([]string, error) {
	return listNames(ctx, store, path.TagDir()+"tag-")
}

// listNames returns what follows a prefix in the names of the objects of one folder.
func listNames(ctx context.Context, store object.Store, prefix string) ([]string, error) {
	var names []string
	for info, err := range store.List(ctx, prefix) {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", prefix, err)
		}
		if name := strings.TrimPrefix(info.Name, prefix); name != "" && !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	return names, nil
}

// checkName refuses names that would leave their folder.
func checkName(what, name string) error {
	if name == "" || strings.ContainsAny(name, "/\\") {
		return errors.New(what + " name " + fmt.Sprintf("%q", name) + " is not a bare name")
	}
	return nil
}
