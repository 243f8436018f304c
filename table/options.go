package table

// Option returns an option's value: as set, else under a former name, else Paimon's default, else "".
func (s *Schema) Option(key string) string {
	if v, ok := s.optionSet(key); ok {
		return v
	}
	return ""
}

func (s *Schema) optionSet(key string) (string, bool) {
	v, ok := s.Options[key]
	return v, ok
}
