package main

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// rewrite makes the golden files anew.
var rewrite = flag.Bool("rewrite", false, "write the golden files")

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
