package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestConcernSizes holds the numbers of models, properties and mutations of each concern
// to those that are pinned.
func TestConcernSizes(t *testing.T) {
	sizes, _ := (&suite{}).sizes()
	assert.Equal(t, concernSizes, sizes)
}
