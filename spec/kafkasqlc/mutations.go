package kafkasqlc

import "github.com/quorate/quorate/spec/concern"

func mutation(id, title, source, story, property string, override func(*Rules)) concern.Mutated[Rules] {
	return concern.Mutated[Rules]{
		Mutation: concern.Mutation{ID: id, Title: title, Source: source, Story: story, Model: "kafkasqlc", Property: property},
		Override: override,
	}
}

// Mutations are the gaps of C, and what could be got wrong about its markers. Source has the
// numbers of docs/kafkasql.md.
var Mutations = []concern.Mutated[Rules]{
	mutation("marker-expired", "the marker of the snapshot that was restored is deleted by age", "C-1, M14, M15",
		"A restores its file and looks for the file's marker from the beginning of the journal, to throw away what it has. The marker is deleted: A throws away all that there is, its own marker, which would make it ready, and all that will come. Nobody is told.",
		"MarkerAhead", func(r *Rules) { r.ExpiresByTime = true }),
	mutation("tail-is-all", "whatever is left of the journal is replayed as if it were all", "C-2",
		"A starts without a file: its disk is new. The journal's first records are deleted. A applies the rest, and is ready.",
		"NoHole", func(r *Rules) { r.ExpiresByTime = true }),
	mutation("lag-is-skipped", "whoever reads below the start of the journal goes on at its start", "M13",
		"A reads more slowly than records are deleted. It goes on behind the hole.",
		"NoHole", func(r *Rules) { r.ExpiresByTime, r.ExpiresUnread = true, true }),
	mutation("one-slot", "an instance remembers the snapshot that was asked for last", "M21, #9778",
		"A snapshot is asked for, and another one before A has come to the first marker. A does not know the first one any more and passes over it; its request waits for nothing.",
		"WaiterAnswered", func(r *Rules) { r.TwoAtOnce = true }),
	mutation("request-commits", "who waits for a snapshot makes it known, and goes when it takes too long", "C-4, M22",
		"The database is large, and the request has gone when the file is complete. It is never made known, this time and every other time.",
		"DumpNamed", func(r *Rules) { r.TimesOut = true }),
	mutation("any-bootstrap", "the marker of any instance that starts makes one ready", "M16",
		"A reads the marker of an earlier start, and is ready with what was there then.",
		"ReadyCaughtUp", func(r *Rules) { r.AnyBoot = true }),
	harmless("boots-first", "an instance appends its marker, and looks through the snapshots then", "M15",
		"A snapshot that is made in between has its marker behind that of the start, which would be thrown away with what is before it.",
		"the file of a snapshot is on the disk of who made it alone, and that one had been ready",
		func(r *Rules) { r.BootsFirst = true }),
}

func harmless(id, title, source, story, why string, override func(*Rules)) concern.Mutated[Rules] {
	m := mutation(id, title, source, story, "", override)
	m.Harmless = why
	return m
}
