package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker in releases.
var version string

// versionOf returns the release, or what the build knows of its source.
func versionOf() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, dirty := info.Main.Version, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && (v == "" || v == "(devel)"):
			v = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if v == "" || v == "(devel)" {
		return "devel" + dirty
	}
	return v
}

func (a *app) versionCommand() *cobra.Command {
	var format outputFormat
	cmd := a.command(&cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version of sink, and of the Go that it was built with.",
		Example: "  sink version\n  sink version -o json",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			out := newPrinter(a.stdout, format, "version", "go", "platform")
			out.row(versionOf(), runtime.Version(), runtime.GOOS+"/"+runtime.GOARCH)
			return out.close()
		},
	})
	format.addTo(cmd)
	return cmd
}
