package main

import (
	"errors"
	"time"

	"sink/config"
)

// span is a flag that takes a length of time, 0 or longer.
type span time.Duration

// Set, String and Type make it a flag.
func (s *span) Set(text string) error {
	var d config.Duration // as the configuration file has them
	if err := d.UnmarshalText([]byte(text)); err != nil {
		return errors.New("wants a duration such as 90s, 30m, 12h or 30d")
	}
	*s = span(d)
	return nil
}

func (s *span) String() string {
	if *s == 0 {
		return "" // help texts show no default
	}
	return time.Duration(*s).String()
}

// Type names the kind of value in help texts.
func (s *span) Type() string { return "duration" }
