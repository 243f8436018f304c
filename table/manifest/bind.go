package manifest

import (
	"errors"
	"fmt"
	"slices"
)

// A member tells how one field of a record is read into a T. Fields are matched by name, as Paimon does, whatever
// their order; fields that have no member are skipped.
type member[T any] struct {
	name     string
	optional bool // may be missing in the writer schema; the T then keeps what it was preset to
	bind     func(n *node) (func(*cursor, *T), error)
}

// reader reads records of one writer schema.
type reader[T any] []step[T]

// step handles one field in the writer's order; read is nil where the field is skipped.
type step[T any] struct {
	field
	read func(*cursor, *T)
}

// newReader binds members to a writer schema. It fails when a member is missing or of another type.
func newReader[T any](n *node, members []member[T]) (reader[T], error) {
	if n.shape != avroRecord {
		return nil, fmt.Errorf("%s where a record is expected", n.shape)
	}
	r := make(reader[T], len(n.fields))
	for i, f := range n.fields {
		r[i].field = f
	}
	for _, m := range members {
		i := slices.IndexFunc(r, func(s step[T]) bool { return s.name == m.name })
		if i < 0 {
			if m.optional {
				continue
			}
			return nil, fmt.Errorf("no field %s", m.name)
		}
		read, err := m.bind(r[i].node)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", m.name, err)
		}
		r[i].read = read
	}
	return r, nil
}

// read fills dst from one record.
func (r reader[T]) read(c *cursor, dst *T) {
	for i := range r {
		s := &r[i]
		if s.read != nil {
			s.read(c, dst)
		} else {
			c.skip(s.node)
		}
		if c.err != nil {
			c.err = fmt.Errorf("%s: %w", s.name, c.err)
			return
		}
	}
}

// want checks that a type is one of the shapes, or a union of null and such a type.
func want(n *node, nullable bool, shapes ...shape) error {
	switch {
	case slices.Contains(shapes, n.shape):
		return nil
	case n.shape == avroUnion:
		for _, b := range n.branches {
			if b.shape != avroNull && !slices.Contains(shapes, b.shape) {
				return fmt.Errorf("union with %s, want %s", b.shape, shapes[0])
			}
		}
		return nil
	case n.shape == avroNull && nullable:
		return nil
	}
	return fmt.Errorf("%s, want %s", n.shape, shapes[0])
}

// value makes a member that must not be null.
func value[T any](name string, read func(*cursor, *T), shapes ...shape) member[T] {
	return member[T]{name: name, bind: func(n *node) (func(*cursor, *T), error) {
		if err := want(n, false, shapes...); err != nil {
			return nil, err
		}
		if n.shape != avroUnion {
			return read, nil
		}
		return func(c *cursor, dst *T) {
			if c.branch(n).shape == avroNull {
				c.fail(fmt.Errorf("null, want %s", shapes[0]))
				return
			}
			read(c, dst)
		}, nil
	}}
}

// nullable makes a member that keeps what the T was preset to when it is null or missing.
func nullable[T any](name string, read func(*cursor, *T), shapes ...shape) member[T] {
	return member[T]{name: name, optional: true, bind: func(n *node) (func(*cursor, *T), error) {
		if err := want(n, true, shapes...); err != nil {
			return nil, err
		}
		return func(c *cursor, dst *T) {
			if c.branch(n).shape != avroNull {
				read(c, dst)
			}
		}, nil
	}}
}

// nested makes a member of record type.
func nested[T, N any](name string, members []member[N], at func(*T) *N) member[T] {
	return member[T]{name: name, bind: func(n *node) (func(*cursor, *T), error) {
		if err := want(n, false, avroRecord); err != nil {
			return nil, err
		}
		record := n
		if n.shape == avroUnion {
			i := slices.IndexFunc(n.branches, func(b *node) bool { return b.shape == avroRecord })
			if i < 0 {
				return nil, errors.New("union without a record")
			}
			record = n.branches[i]
		}
		r, err := newReader(record, members)
		if err != nil {
			return nil, err
		}
		return func(c *cursor, dst *T) {
			if c.branch(n) != record {
				c.fail(errors.New("null, want a record"))
				return
			}
			r.read(c, at(dst))
		}, nil
	}}
}

// arrayOf makes a member that is an array of one of the shapes, or null. begin is called before the items, also when
// there are none; item for each with its type.
func arrayOf[T any](name string, read func(c *cursor, items *node, dst *T), shapes ...shape) member[T] {
	return member[T]{name: name, optional: true, bind: func(n *node) (func(*cursor, *T), error) {
		branches := []*node{n}
		if n.shape == avroUnion {
			branches = n.branches
		}
		for _, b := range branches {
			if err := want(b, true, avroArray); err != nil {
				return nil, err
			}
			if b.shape == avroArray {
				if err := want(b.items, false, shapes...); err != nil {
					return nil, fmt.Errorf("items: %w", err)
				}
			}
		}
		return func(c *cursor, dst *T) {
			if b := c.branch(n); b.shape == avroArray {
				read(c, b.items, dst)
			}
		}, nil
	}}
}

func longAt[T any](at func(*T) *int64) func(*cursor, *T) {
	return func(c *cursor, dst *T) { *at(dst) = c.long() }
}

func intAt[T any](at func(*T) *int32) func(*cursor, *T) {
	return func(c *cursor, dst *T) { *at(dst) = c.int() }
}

func bytesAt[T any](at func(*T) *[]byte) func(*cursor, *T) {
	return func(c *cursor, dst *T) { *at(dst) = c.bytes() }
}

func stringAt[T any](at func(*T) *string) func(*cursor, *T) {
	return func(c *cursor, dst *T) { *at(dst) = string(c.bytes()) }
}

// stringsAt reads a string array. Equal arrays of one file share their memory.
func stringsAt[T any](at func(*T) *[]string) func(*cursor, *node, *T) {
	return func(c *cursor, items *node, dst *T) {
		before := c.b
		end := *c
		end.items(func(int64) { end.skip(items) })
		raw := before[:len(before)-len(end.b)]
		if list, ok := c.lists[string(raw)]; ok && end.err == nil {
			c.b = end.b
			*at(dst) = list
			return
		}
		list := []string{}
		c.items(func(int64) {
			if c.branch(items).shape == avroNull {
				c.fail(fmt.Errorf("null item"))
				return
			}
			list = append(list, string(c.bytes()))
		})
		if c.lists == nil {
			c.lists = make(map[string][]string)
		}
		c.lists[string(raw)] = list
		*at(dst) = list
	}
}
