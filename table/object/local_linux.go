package object

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reflink makes dst share the blocks of src; errors.ErrUnsupported where the file system cannot (FICLONE).
func reflink(dst, src *os.File) error {
	err := unix.IoctlFileClone(int(dst.Fd()), int(src.Fd()))
	for _, no := range []unix.Errno{unix.EOPNOTSUPP, unix.ENOTTY, unix.EXDEV, unix.EINVAL, unix.ENOSYS, unix.EBADF, unix.EPERM} {
		if errors.Is(err, no) {
			return fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
	}
	return err
}

// renameNew renames only if there is no file of the new name, else fs.ErrExist.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if err != nil {
		if errors.Is(err, unix.EINVAL) {
			err = fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
		}
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
