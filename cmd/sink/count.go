package main

import (
	"errors"
	"strconv"
)

// count is a flag that takes whole numbers from 0 on.
type count int64

// Set, String and Type make it a flag.
func (c *count) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return errors.New("wants a whole number from 0 on")
	}
	*c = count(n)
	return nil
}

func (c *count) String() string { return strconv.FormatInt(int64(*c), 10) }

// Type names the kind of value in help texts.
func (c *count) Type() string { return "int" }

// ordinal is a flag that takes whole numbers from 1 on, such as those of snapshots. Without the flag it is 0.
type ordinal int64

// Set, String and Type make it a flag.
func (o *ordinal) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return errors.New("wants a whole number from 1 on")
	}
	*o = ordinal(n)
	return nil
}

func (o *ordinal) String() string { return strconv.FormatInt(int64(*o), 10) }

// Type names the kind of value in help texts.
func (o *ordinal) Type() string { return "int" }
