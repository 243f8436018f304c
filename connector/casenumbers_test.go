package connector

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// caseTests are the cases of their numbers, and the tests that play them: of this package where no other is named.
var caseTests = map[string]string{
	"U01 key change in halves, held back, as one update":          "TestKeyChange TestHeldPartition integration.TestKeyChange integration.TestKeyChangeOneUpdate",
	"U03 order by arrival, never by clock, text or LSN":           "TestOrder integration.TestOrder",
	"U05 Debezium sends events twice":                             "TestRepeats TestDeduplicate TestRepeatedTruncate",
	"U05 rows that Debezium reads again":                          "TestIncrementalSnapshot TestRereadIsTold",
	"U06 tombstones and poor deletes":                             "TestPoorDeletes TestMarkerBeforeTombstone integration.TestPoorDeletes integration.TestTombstoneAfterRestart",
	"U07 a delete of a partitioned table with the key only":       "TestPartitionedDelete TestUnplacedIsTold",
	"U09 truncate between inserts":                                "TestTruncateInBetween TestTruncate",
	"U10 many changes of one key":                                 "TestManySteps integration.TestManyChangesOfOneKey",
	"U11 TOAST placeholder in every shape":                        "TestToast debezium.TestUnavailable",
	"U13 update without before":                                   "TestPoorUpdates TestPartialUpdateKeeps debezium.TestUpdateWithoutBefore integration.TestMissingBefore",
	"U14 no key, null key, wrong key":                             "TestOddKeysOfRecords TestKeylessRows TestKeylessChanges debezium.TestKeys integration.TestNoKey integration.TestWrongKey integration.TestKeyOrder",
	"U15 integers at the edge":                                    "TestIntegers debezium.TestIntegers",
	"U17 decimals":                                                "TestDecimals debezium.TestDecimals",
	"U18 bucket of odd keys":                                      "TestBuckets integration.TestOddKeys",
	"U19 times":                                                   "TestTimes TestTimeZones debezium.TestTimes debezium.TestZones",
	"U21 bytes that are no text":                                  "TestBytes debezium.TestBinary",
	"U22 transactions, control records, holes":                    "TestTransactions TestHoles",
	"U24 the wanted offset is gone":                               "TestOffsetIsGone integration.TestOffsetGone",
	"U25 killed after each step":                                  "TestEveryCrash integration.TestCrash",
	"U26 answers of the store that are lost or false":             "TestStoreAwayForAWhile commit.TestUnknownOutcomes commit.TestRepeatedRequestIsTheSame commit.TestReadsLagBehind integration.TestChaosNetwork integration.TestStoreWithoutConditionalCreate integration.TestLeastRights",
	"U27 a sleeper wakes":                                         "commit.TestFenced commit.TestSleeperIsCalledOff commit.TestSleeperMakesExpiredID integration.TestChaosSleeper",
	"U28 rebalances in the middle":                                "TestTwoMeetTheChange simulation.TestSimulation integration.TestTwoInstances integration.TestChaosChurn",
	"U30.1 a new column, used at once":                            "TestNewColumn",
	"U30.2 columns added while nobody reads":                      "TestChangedWhileAsleep",
	"U30.3 a rush of records of a table that has just been made":  "TestRushOfANewTable",
	"U30.4 a new member of a struct":                              "TestNewMember",
	"U30.5 two instances meet a change at once":                   "TestTwoMeetTheChange TestTwoMeetUnlikeChanges TestInferTwoMeet",
	"U32 rename, drop, another type":                              "TestSourceRenames TestComesBackAsText integration.TestEvolution",
	"U32 shadow tables of online schema changes":                  "TestGhostTopics TestGhostTables",
	"U34 records that are no rows":                                "TestNotRows debezium.TestKinds debezium.TestJunk integration.TestNotRows",
	"U35 one bad record in many":                                  "TestBadRecords TestHugeRecord TestLettersOnce integration.TestPoisonRecord",
	"U36 trouble with the registry":                               "debezium.TestRegistry debezium.TestRegistryAway debezium.TestSchemaIDs connector.TestRegistryComesBack connector.TestStopWhileRegistryIsAway",
	"U36 a recursive type, another order of fields and a default": "debezium.TestAvroRecursive debezium.TestAvroByName",
	"U38 letter case, and a computed day that is none of a week":  "TestLetterCase TestInferLetterCase TestComputedPartition TestMatches compute.TestColumns",
}

// TestCaseNumbers looks for the tests of all cases.
func TestCaseNumbers(t *testing.T) {
	folders := map[string]string{"connector": ".", "debezium": "../debezium", "integration": "../integration", "compute": "compute",
		"commit": "../commit", "simulation": "../integration/simulation"}
	texts := map[string]string{}
	for name, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			texts[name] += string(text)
		}
	}
	for number, tests := range caseTests {
		require.Regexp(t, regexp.MustCompile(`^U\d\d(\.\d)? `), number)
		for test := range strings.FieldsSeq(tests) {
			folder, name, ok := strings.Cut(test, ".")
			if !ok {
				folder, name = "connector", test
			}
			require.True(t, strings.Contains(texts[folder], "\nfunc "+name+"("), "%s has no %s, of %s", folder, name, number)
		}
	}
}
