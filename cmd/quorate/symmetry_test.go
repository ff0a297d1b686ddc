package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSymmetryFlag(t *testing.T) {
	for _, row := range []struct {
		args string
		code int
		says string
	}{
		{"check -model commit -symmetry", exitHolds, "up to symmetry, 2 renamings: they stand for 11,707 states"},
		{"check -model figure8,2pc10 -symmetry -max-depth 3", exitLimit, "symmetry gains nothing here"},
		{"check -model 2pc10 -symmetry", exitHolds, "3,300 distinct states, 43,297 steps"},
		{"check -model vote-restart -symmetry -mutate KAFKA-10661", exitViolated, "violates"},
		{"check -symmetry", exitUsage, "go with -model"},
		{"find -model commit -symmetry true", exitUsage, "a question may tell processes apart"},
	} {
		code, out, err := quorate(fields(row.args)...)
		assert.Equal(t, row.code, code, row.args)
		assert.Contains(t, out+err, row.says, row.args)
	}
}
