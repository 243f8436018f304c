//go:build !linux

package object

import (
	"errors"
	"os"
)

func reflink(_, _ *os.File) error { return errors.ErrUnsupported }

func renameNew(_, _ string) error { return errors.ErrUnsupported }
