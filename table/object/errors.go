package object

import (
	"errors"
	"fmt"
	"io/fs"
)

// What a caller can tell apart, beside [io/fs.ErrNotExist], [io/fs.ErrExist] and [io/fs.ErrPermission]. The error
// around them names the store and the way out.
var (
	// ErrNoBucket says that the bucket does not exist.
	ErrNoBucket = errors.New("no such bucket")
	// ErrCredentials says that there are no credentials, or that the store does not accept them.
	ErrCredentials = errors.New("credentials not accepted")
	// ErrUnreachable says that the store did not answer, or not in its own protocol.
	ErrUnreachable = errors.New("store not reachable")
	// ErrNoConditionalCreate says that the store lets two racing creates of one name both succeed. Several writers would
	// overwrite each other's snapshots there.
	ErrNoConditionalCreate = errors.New("store has no conditional create")
)

// checkName refuses what is no name of an object.
func checkName(name string) error {
	if name == "." || !fs.ValidPath(name) {
		return fmt.Errorf("object name %q: %w", name, fs.ErrInvalid)
	}
	return nil
}
