// Package debezium turns Kafka records that Debezium wrote into rows of a table.
//
// # The way of a record
//
//	Record -> Decoder.Frame -> Frame: what it is, what it declares (Shape), where its parts are
//	Frame.Shape -> Bind with the table's schema -> Plan: one converter a column
//	Frame -> Plan.Append -> rows of a table.Batch, with their kinds, and an Event
//
// A Frame says what a record is without reading its values: from the schema it carries, or, in plain JSON, from the op at
// the end of the envelope. A [Shape] stands for byte-equal declarations, so that comparing its pointer tells whether the
// source's schema has changed. A [Plan] reads the bytes once, straight into the column vectors. Two encodings end in the
// same converters: JSON (JsonConverter, with schema and without) and Avro (Confluent's wire format, Apicurio's).
//
// # What always holds
//
//  1. A value is in its column exactly, or the record is bad: no rounding, no wrap-around, no cut text, no time zone of
//     the process, no detour of integers or decimals over floats.
//  2. A record is rows, of no table (see [Kind]), or a *[RecordError]; after an error the batch is as before.
//  3. JSON is read strictly, to the last byte, also where it is skipped: RFC 8259, UTF-8, no half surrogates, nested at
//     most 256 deep. Of a member that occurs twice the last one counts, as in Jackson.
//  4. -U and +U of an update are adjacent, -U first. A row that is not known is never made up: see Event.Before and
//     Event.Unavailable.
//  5. A steady stream allocates nothing.
//
// # Types
//
// What a new table gets ([Shape.Fields]) for what the source declares:
//
//	int8, int16, int32, int64                TINYINT, SMALLINT, INT, BIGINT
//	  propagated TINYINT(1)                  SMALLINT, or BOOLEAN with types: {tinyint1: boolean}
//	  propagated BIGINT UNSIGNED             DECIMAL(20, 0); what was sent as a negative number is 2^64 higher
//	boolean, float32, float64, string, bytes BOOLEAN, FLOAT, DOUBLE, STRING, BYTES
//	Decimal(p, s)                            DECIMAL(p, s); without precision DECIMAL(38, s); where Paimon has no such type
//	                                         (p > 38, PostgreSQL's negative scales) STRING, the plain text
//	VariableScaleDecimal                     STRING, the plain text; DECIMAL when `columns:` says so, exact or an error
//	Date, IsoDate, connect Date              DATE
//	Time, connect Time (milliseconds)        TIME(3)
//	MicroTime, NanoTime                      BIGINT in microseconds, because Paimon keeps a TIME in milliseconds of one day and
//	                                         these have finer parts, signs and up to 838 hours
//	IsoTime                                  STRING, as sent
//	  types: {time: time}                    TIME(3) for all of them, and a bad record for what does not fit
//	  types: {time: int64}                   BIGINT in microseconds for all of them
//	  types: {time: string}                  STRING for all of them: [-]HH:MM:SS[.ffffff]
//	Timestamp, connect Timestamp             TIMESTAMP(3)
//	MicroTimestamp, NanoTimestamp            TIMESTAMP(6), TIMESTAMP(9)
//	IsoTimestamp                             TIMESTAMP(6)
//	ZonedTimestamp                           TIMESTAMP(6) WITH LOCAL TIME ZONE
//	ZonedTime, Interval, Json, Xml, Uuid,    STRING, as sent
//	Enum, EnumSet, Ltree, Tsvector, ...
//	Year                                     INT
//	MicroDuration, NanoDuration              BIGINT, as sent
//	Bits                                     BYTES, as sent (little-endian)
//	Geometry, Geography, Point               ROW of their members: wkb BYTES, srid INT, x and y DOUBLE
//	array, map, struct                       ARRAY, MAP, ROW of what they hold
//	FloatVector, DoubleVector                ARRAY<FLOAT>, ARRAY<DOUBLE>
//
// A table may have other types; whatever holds the value exactly will do: a wider integer, a DECIMAL with more digits, a
// TIMESTAMP with more decimals, a STRING for any scalar. Bind refuses pairs that make no sense, all at once. PostgreSQL's
// infinite dates and timestamps follow [InfinityMode], NaN in a DECIMAL [NaNMode].
//
// # JSON without schema
//
// The table's types say how a value is read. A number in a TIMESTAMP or TIME is in milliseconds for up to 3 decimals,
// microseconds up to 6, nanoseconds above, which is what Debezium's adaptive mode sends for such columns; a number in a DATE
// is in days; text is ISO 8601. Text in a DECIMAL or in BYTES is read in the stated mode, or in the one way in which it can be read;
// a text with two readings is a bad record ([DecimalMode], [BinaryMode]). An object {"scale", "value"} is a decimal.
//
// [Frame.Infer] tells what columns the values of an event ask for: null nothing; true and false BOOLEAN; a whole number BIGINT,
// beyond 64 bits DECIMAL(38, 0); any other number DOUBLE if it has no more digits than a DOUBLE is printed with (17), else
// DECIMAL(38, 18); what is left STRING. A BIGINT becomes a DECIMAL for what it cannot hold, and what exists is widened to what the
// value needs; numbers never become text.
//
// # What is not known
//
// Null stands for it. Where the column is NOT NULL, a row of AppendKey, and a column that was not sent, hold a filler that
// nobody takes for data: the text (unknown), cut to the column's length, or its bytes; the least TINYINT, SMALLINT, INT and
// BIGINT; NaN; the least DECIMAL (-999.99); 0001-01-01; an empty ARRAY or MAP. BOOLEAN and TIME have no value to spare:
// false and 00:00:00.
//
// # Sources
//
// Debezium: documentation of the PostgreSQL and MySQL connectors (data types, change events), of
// ExtractNewRecordState, and the events of 3.6.1 in testdata. Kafka Connect: org.apache.kafka.connect.json.JsonConverter.
// Avro: the 1.12 specification; Confluent's AvroData for the connect.* attributes.
package debezium
