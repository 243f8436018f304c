//go:build synctests

package simulation

// empty takes all rows of a feed with one event, as TRUNCATE does.
func (s *source) empty(f *feed) {
	f.rows = map[int64]*item{}
	s.emit(f, change{op: 'e', before: &item{id: f.first}})
}

// repeat sends some of the last events of a feed again, in their order: Debezium does after a restart, with all that it had not
// yet noted as sent. A tombstone comes with its delete.
func (s *source) repeat(f *feed) {
	most := 1 + s.rnd.IntN(12)
	from := len(s.log)
	for from > 0 && most > 0 {
		from--
		if s.log[from].source == f.source {
			most--
		}
	}
	deleted := map[int64]bool{}
	for i := from; i < len(s.log); i++ {
		c := s.log[i].change
		if s.log[i].source != f.source || c.op == 't' && !deleted[c.before.id] {
			continue
		}
		if c.op == 'd' {
			deleted[c.before.id] = true
		}
		c.again = true
		s.emit(f, c)
	}
}
