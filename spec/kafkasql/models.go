package kafkasql

// Models are all models.
var Models = []Model{
	{
		Name: "kafkasql-t", Why: "T: two writers, one of which may be late, a trim, and an instance that starts",
		Variant: T, Instances: 2, Up: 2, Script: []Kind{Create, Delete, Create}, Written: 2, Attempts: 2, Keep: 1,
		Crashes: 1, Trims: 1,
	},
	{
		Name: "kafkasql-t-deep", Why: "T: the same with three attempts, two crashes and a third record",
		Variant: T, Instances: 2, Up: 2, Script: []Kind{Create, Delete, Create}, Written: 1, Fine: true, Attempts: 3, Keep: 1,
		Crashes: 1, Trims: 2, Deep: true,
	},
	{
		Name: "kafkasql-t-capture", Why: "T: records are applied while an image is copied",
		Variant: T, Instances: 2, Up: 1, Script: []Kind{Create, Delete, Create}, Fine: true, Attempts: 2, Keep: 1,
		Trims: 1,
	},
	{
		Name: "kafkasql-t-damage", Why: "T: of two images that are kept one is damaged, before or after a trim",
		Variant: T, Instances: 2, Up: 1, Script: []Kind{Create, Create}, Written: 1, Attempts: 3, Keep: 2,
		Trims: 2, Damages: 1,
	},
	{
		Name: "kafkasql-t-keep-one", Why: "T, with one image kept: damage after a trim loses the state",
		Variant: T, Instances: 1, Up: 1, Script: []Kind{Create, Create}, Written: 1, Attempts: 2, Keep: 1,
		Crashes: 1, Trims: 1, Damages: 1, Unsafe: "Recoverable",
	},
	{
		Name: "kafkasql-t-gc", Why: "T: garbage is collected while one instance restores and two upload",
		Variant: T, Instances: 3, Up: 2, Script: []Kind{Create, Create}, Written: 1, Attempts: 3, Keep: 1,
		Trims: 1, Collections: 1, Readers: true,
	},
	{
		Name: "kafkasql-t-gc-paused", Why: "T: the same with two images, and one instance is paused",
		Variant: T, Instances: 3, Up: 2, Script: []Kind{Create, Create}, Written: 1, Attempts: 2, Keep: 1,
		Trims: 1, Collections: 1, Pauses: 1, Readers: true,
	},
	{
		Name: "kafkasql-t-gc-deep", Why: "T: the same with three images, and one instance is paused",
		Variant: T, Instances: 3, Up: 2, Script: []Kind{Create, Create}, Written: 1, Attempts: 3, Keep: 1,
		Trims: 1, Collections: 2, Pauses: 1, Readers: true, Deep: true,
	},
	{
		Name: "kafkasql-t-damage-gc", Why: "T: two images are kept, and what is older is collected",
		Variant: T, Instances: 1, Up: 1, Script: []Kind{Create, Create}, Attempts: 3, Keep: 2,
		Crashes: 1, Trims: 1, Collections: 1, Damages: 1,
	},
	{
		Name: "kafkasql-t-rewind", Why: "T: the journal loses its tail, and grows past it again",
		Variant: T, Instances: 2, Up: 1, Script: []Kind{Create, Create, Create}, Written: 2, Attempts: 2, Keep: 1,
		Crashes: 1, Trims: 1, Rewinds: 1,
	},
	{
		Name: "kafkasql-t-recreated", Why: "T: the journal is another one of the same name",
		Variant: T, Instances: 2, Up: 1, Script: []Kind{Create, Create}, Written: 1, Attempts: 2, Keep: 1,
		Crashes: 1, Trims: 1, Rewinds: 1, Recreates: true,
	},
	{
		Name: "kafkasql-t-local", Why: "T: databases survive crashes, and are used again if they are of this journal",
		Variant: T, Instances: 1, Up: 1, Script: []Kind{Create, Delete, Create}, Attempts: 1, Keep: 1,
		Crashes: 2, Trims: 1, Disks: 1, Rewinds: 1, KeepDisk: true,
	},
	{
		Name: "kafkasql-t-local-behind", Why: "T: a database on a disk is older than the start of the journal",
		Variant: T, Instances: 2, Up: 2, Script: []Kind{Create, Create}, Written: 1, Attempts: 1, Keep: 1,
		Crashes: 1, Trims: 1, KeepDisk: true,
	},
	{
		Name: "kafkasql-t-local-restore", Why: "T: a disk is lost, and the process ends while it restores an image",
		Variant: T, Instances: 1, Up: 1, Script: []Kind{Create, Create}, Written: 1, Attempts: 1, Keep: 1,
		Crashes: 2, Trims: 1, Disks: 1, KeepDisk: true,
	},
	{
		Name: "kafkasql-t-store", Why: "T: the store does not keep what it acknowledged, and commits are sent twice",
		Variant: T, Instances: 2, Up: 1, Script: []Kind{Create, Create}, Written: 1, Fine: true, Attempts: 2, Keep: 1,
		Crashes: 1, Trims: 1, Damages: 1, Lost: 1, LosesUploads: true,
	},
	{
		Name: "kafkasql-t-fails", Why: "T: an attempt fails at any of its steps, and its instance makes another one",
		Variant: T, Instances: 1, Up: 1, Script: []Kind{Create, Create}, Written: 1, Fine: true, Attempts: 3, Keep: 1,
		Crashes: 1, Trims: 1, Collections: 1, Lost: 1, Failures: 2,
	},
	{
		Name: "kafkasql-t-versions", Why: "T: instances of two versions, with records and schemas that the older one does not know",
		Variant: T, Instances: 2, Up: 2, Script: []Kind{Create, CreateV2, Create}, Written: 1, Attempts: 2, Keep: 1,
		Crashes: 1, Trims: 1, Moves: 1, Versions: []uint8{1, 2},
	},
	{
		Name: "kafkasql-t-rejected", Why: "T: operations that are rejected advance the offset like others",
		Variant: T, Instances: 2, Up: 1, Script: []Kind{Delete, Create, Delete, Delete}, Attempts: 2, Keep: 1,
		Trims: 1,
	},
	{
		Name: "kafkasql-t-clients", Why: "T: clients wait for what they wrote, and write again what was not acknowledged",
		Variant: T, Instances: 2, Up: 1, Script: []Kind{Create, Create}, Attempts: 1, Keep: 1,
		Crashes: 1, Lost: 1, Clients: true,
	},
	{
		Name: "kafkasql-t-early", Why: "T: an instance starts, and restores, while clients of another one write",
		Variant: T, Instances: 2, Up: 1, Script: []Kind{Create, Create}, Written: 1, Attempts: 2, Keep: 1,
		Clients: true,
	},
	{
		Name: "kafkasql-t-schedule", Why: "T: an image is made only if there is none of everything, and clocks are wrong",
		Variant: T, Instances: 2, Up: 2, Script: []Kind{Create, Create}, Written: 1, Attempts: 3, Keep: 1,
		Crashes: 1, Damages: 1, Jumps: 1, Scheduled: true,
		Decides: func(r *Rules) {
			r.Wants = func(s *State, i int) bool { return !s.everythingCommitted(&s.I[i]) && s.idle() }
		},
	},
	{
		Name: "kafkasql-b", Why: "B: the cut is made on the thread that applies, and what B leaves open is decided as in T",
		Variant: B, Instances: 2, Up: 2, Script: []Kind{Create, Delete, Create}, Written: 2, Attempts: 2, Keep: 1,
		Crashes: 1, Trims: 1, Jumps: 1,
	},
	{
		Name: "kafkasql-b-capture", Why: "B: records arrive while the thread that applies makes an image",
		Variant: B, Instances: 2, Up: 1, Script: []Kind{Create, Delete, Create}, Fine: true, Attempts: 2, Keep: 1,
		Trims: 1,
	},
	{
		Name: "kafkasql-b-literal", Why: "B as it was proposed: the newest record, whatever the store has, and a trim behind it",
		Variant: B, Instances: 2, Up: 2, Script: []Kind{Create, Delete, Create}, Written: 2, Attempts: 2, Keep: 1,
		Crashes: 1, Trims: 1, Unsafe: "ChosenNeverBack", Decides: func(r *Rules) { chooseLast(r); r.Accepts = acceptAll; r.FallsBack = false },
	},
	{
		Name: "kafkasql-a", Why: "A with its gaps closed: chunks name their attempt, and the greatest offset is chosen; one holder is slow",
		Variant: A, Instances: 3, Up: 2, Script: []Kind{Create, Create}, Written: 1, Attempts: 2, Keep: 1, Unread: 2,
		Trims: 1, Collections: 1, Readers: true,
	},
	{
		Name: "kafkasql-a-literal", Why: "A as it was proposed: chunks without a name, the last commit is chosen",
		Variant: A, Instances: 3, Up: 2, Script: []Kind{Create, Create}, Written: 1, Attempts: 2, Keep: 1, Unread: 3,
		Readers: true, Unsafe: "RestoredIsReplay",
		Decides: func(r *Rules) {
			r.Tags, r.Accepts = false, acceptAll
			chooseLast(r)
			r.AbortsOnRequest = true
			acceptFenced(r)
		},
	},
	{
		Name: "kafkasql-a-export", Why: "A: the row with the highest id is deleted before the dump",
		Variant: A, Instances: 1, Up: 1, Script: []Kind{Create, Delete, Create}, Written: 2, Attempts: 1, Keep: 1, Unread: 3,
		Crashes: 1, Trims: 1,
	},
	{
		Name: "kafkasql-a-lost", Why: "A: the topic acknowledges a chunk, and the acknowledgement is lost",
		Variant: A, Instances: 2, Up: 1, Script: []Kind{Create, Create}, Written: 1, Attempts: 2, Keep: 1, Unread: 3,
		Trims: 1, Lost: 1, Readers: true,
	},
	{
		Name: "kafkasql-a-clock", Why: "A with clocks that can be relied upon: one dumps at a time, and another one serves",
		Variant: A, Instances: 2, Up: 2, Script: []Kind{Create}, Written: 1, Attempts: 2, Keep: 1, Unread: 3,
		Crashes: 1, Lives: 1, BoundedClocks: true,
	},
	{
		Name: "kafkasql-a-service", Why: "A with two instances: one serves while the other one dumps",
		Variant: A, Instances: 2, Up: 2, Script: []Kind{Create}, Written: 1, Attempts: 2, Keep: 1, Unread: 3,
		BoundedClocks: true, JudgesService: true,
	},
	{
		Name: "kafkasql-a-paused", Why: "A with clocks that can be relied upon, and a holder that is paused for longer than its lease",
		Variant: A, Instances: 2, Up: 2, Script: []Kind{Create}, Written: 1, Attempts: 2, Keep: 1, Unread: 3,
		Pauses: 1, BoundedClocks: true, Unsafe: "OneDumper",
	},
	{
		Name: "kafkasql-a-alone", Why: "A with one instance: nobody serves while it makes a checkpoint",
		Variant: A, Instances: 1, Up: 1, Script: []Kind{Create}, Written: 1, Attempts: 1, Keep: 1, Unread: 3, JudgesService: true, Unsafe: "SomebodyServes",
	},
	{
		Name: "kafkasql-a-lock", Why: "A's lock alone, with kills and pauses without number: for what comes about in the end",
		Variant: A, Instances: 2, Up: 2, Keep: 1, Unread: 3, BoundedClocks: true, LockOnly: true,
	},
	{
		Name: "kafkasql-t-live", Why: "T: a writer ends, and an image is damaged: for what comes about in the end",
		Variant: T, Instances: 2, Up: 2, Script: []Kind{Create}, Written: 1, Attempts: 3, Keep: 1,
		Crashes: 1, Damages: 1, Decides: ifNone,
	},
	{
		Name: "kafkasql-t-endless", Why: "T: an instance starts while clients write for ever",
		Variant: T, Instances: 2, Up: 1, Script: []Kind{Touch}, Keep: 1, Endless: true,
	},
}
