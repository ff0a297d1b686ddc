package kafkasql

import "github.com/quorate/quorate/spec/concern"

var pins = map[string]concern.Pin{}

var steps = map[string]int{}
