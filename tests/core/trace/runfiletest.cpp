// SPDX-License-Identifier: Apache-2.0
// Run files: what is written comes back, and errors that a stranger understands.
#include "core/trace/runfile.h"
#include "core/trace/file/forwardedrows.h"

#include "core/base/file.h"
#include "core/trace/timeline.h"
#include "tests/core/trace/randomrun.h"
#include "tests/core/trace/samplerun.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fmt/format.h>
#include <sqlite3.h>

using namespace retro::trace;
using namespace retro::trace::test;
using retro::base::ErrorCode;

namespace fs = std::filesystem;

namespace
{

void execute(const fs::path& path, const std::string& sql)
{
    sqlite3* database = nullptr;
    QCOMPARE(sqlite3_open(path.c_str(), &database), SQLITE_OK);
    sqlite3_exec(database, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF", nullptr, nullptr, nullptr);
    QCOMPARE(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
    sqlite3_close(database);
}

std::string bytesOf(const fs::path& path) { return retro::base::readTextFile(path, 1U << 30U).value(); }

} // namespace

class RunFileTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_folder;

    fs::path file(const char* name) const { return fs::path(m_folder.path().toStdString()) / name; }

    std::string written(const char* name, const Run& run) const
    {
        const auto done = writeRun(file(name), run);
        return done ? std::string() : done.error().text();
    }

private slots:
    void everythingComesBack()
    {
        const auto run = sampleRunWithInput();
        QCOMPARE(written("a.retro", *run), std::string());
        RETRO_MADE(read, readRun(file("a.retro")));
        QCOMPARE(difference(*run, **read), std::string());
        QVERIFY((*read)->tensors[5].storage() == (*read)->tensors[6].storage());
        QVERIFY(Timeline::open(*read).ok());
    }

    /// What ends in a region is known without the model; a tensor that does not fit its value is refused.
    void aRegionIsKept()
    {
        const auto run = sampleRun();
        RunRegion region;
        region.text = "the left half";
        region.masks.resize(run->graph->inputs().size());
        region.weights.resize(run->graph->valueCount());
        const ValueId input = run->graph->inputs().front();
        region.masks[0] = Tensor::full(retro::tensor::DType::Float32, run->shapes[input.index()], 1);
        region.weights[input.index()] = Tensor::full(retro::tensor::DType::Float32, run->shapes[input.index()], 0.25);
        region.arriving = region.weights;
        QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("region.retro").toStdString();
        RETRO_MADE(written, writeRecorded(path, {run, {}, {}, std::make_shared<const RunRegion>(region)}));
        RETRO_MADE(read, readRecorded(path));
        QVERIFY(read->region);
        QCOMPARE(read->region->text, region.text);
        QCOMPARE(read->region->weights[input.index()].at(0), 0.25);
        QCOMPARE(read->region->masks[0].at(0), 1.0);
        QVERIFY(read->region->arriving.size() == run->graph->valueCount());
        QCOMPARE(difference(*run, *read->run), std::string());
        region.weights[input.index()] = Tensor::full(retro::tensor::DType::Float32, {3, 5, 7}, 1);
        QVERIFY(writeRecorded(path, {run, {}, {}, std::make_shared<const RunRegion>(region)}).ok());
        const auto wrong = readRecorded(path);
        QVERIFY(!wrong.ok() && wrong.error().code == retro::base::ErrorCode::Input);
        QVERIFY2(wrong.error().text().find("region") != std::string::npos, wrong.error().text().c_str());
    }

    /// tests/data/runs/version1.retro was written by writeRun() from sampleRun() when version 1 was made. It must open
    /// for ever.
    void theFileOfVersion1Opens()
    {
        RETRO_MADE(read, readRun(RETRO_SOURCE_DIR "/tests/data/runs/version1.retro"));
        QCOMPARE(difference(*sampleRun(), **read), std::string());
    }

    /// version2.retro: the same with the two causes that version 2 added.
    void theFileOfVersion2Opens()
    {
        RETRO_MADE(read, readRun(RETRO_SOURCE_DIR "/tests/data/runs/version2.retro"));
        Run expected = *sampleRun();
        expected.ledger.back().causes[9] = 0.125;
        expected.ledger.back().causes[10] = -2;
        QCOMPARE(difference(expected, **read), std::string());
    }

    /// version3.retro: sampleRunWithInput(), when version 3 was made.
    void theFileOfVersion3Opens()
    {
        RETRO_MADE(read, readRun(RETRO_SOURCE_DIR "/tests/data/runs/version3.retro"));
        QCOMPARE(difference(*sampleRunWithInput(), **read), std::string());
    }

    /// version4.retro: the same with sampleNotes().
    void theFileOfVersion4Opens()
    {
        RETRO_MADE(read, readRecorded(RETRO_SOURCE_DIR "/tests/data/runs/version4.retro"));
        QCOMPARE(difference(*sampleRunWithInput(), *read->run), std::string());
        QVERIFY(read->notes == sampleNotes(*sampleRunWithInput()));
    }

    /// version5.retro: what `explain --run` wrote of Add(Relu(x), Neg(Relu(x))) when version 5 was made.
    void theFileOfVersion5Opens()
    {
        RETRO_MADE(read, readRun(RETRO_SOURCE_DIR "/tests/data/runs/version5.retro"));
        QCOMPARE((*read)->graph->nodeCount(), std::size_t{3});
        QVERIFY(!(*read)->events.empty() && Timeline::open(*read).ok());
    }

    /// version6.retro: what `explain --run` wrote of the sample lut-digits, with its launches, when version 6 was made.
    void theFileOfVersion6Opens()
    {
        RETRO_MADE(read, readRun(RETRO_SOURCE_DIR "/tests/data/runs/version6.retro"));
        const auto isLaunch = [](const Event& event) { return event.kind == retro::event::EventKind::Launch; };
        QVERIFY(std::ranges::any_of((*read)->events, isLaunch) && Timeline::open(*read).ok());
    }

    /// version7.retro: what `plan --run` wrote of the graph chain-48 by the strategy revolve, when version 7 was made.
    void theFileOfVersion7Opens()
    {
        RETRO_MADE(read, readRun(RETRO_SOURCE_DIR "/tests/data/runs/version7.retro"));
        const auto isCandidate = [](const Event& event) { return event.kind == retro::event::EventKind::Candidate; };
        QVERIFY(std::ranges::any_of((*read)->events, isCandidate) && Timeline::open(*read).ok());
        QVERIFY((*read)->facts.forwarded.empty());
    }

    /// version8.retro: what `explain --run --forward compress` wrote of the sample marked-step by the composite
    /// epsilon, when version 8 was made.
    void theFileOfVersion8Opens()
    {
        RETRO_MADE(read, readRun(RETRO_SOURCE_DIR "/tests/data/runs/version8.retro"));
        QVERIFY(!(*read)->facts.forwarded.empty() && Timeline::open(*read).ok());
        QVERIFY((*read)->ledger.size() > 1 && (*read)->ledger[0].magnitude > 0);
        for (const retro::event::LedgerEntry& row : (*read)->ledger) {
            QCOMPARE(row.magnitudeHandedOn, 0.0); // nobody knew
        }
    }

    /// version9.retro, version13.retro: what `explain --run` wrote of the sample marked-step by the composite epsilon,
    /// when these versions were made.
    void filesOfFewerCausesOpen()
    {
        for (const int version : {9, 13}) {
            RETRO_MADE(read, readRun(fmt::format(RETRO_SOURCE_DIR "/tests/data/runs/version{}.retro", version)));
            QVERIFY((*read)->ledger.size() > 1 && Timeline::open(*read).ok());
            QVERIFY((*read)->ledger[0].magnitudeHandedOn > 0); // behind the causes
            for (const retro::event::LedgerEntry& row : (*read)->ledger) {
                QCOMPARE(row.causes.back(), 0.0); // nobody knew
            }
        }
    }

    void theLastCauseComesBack()
    {
        Run run = *sampleRun();
        run.ledger[1].causes.back() = 0.75;
        QCOMPARE(written("cause.retro", run), std::string());
        RETRO_MADE(read, readRun(file("cause.retro")));
        QCOMPARE(difference(run, **read), std::string());
    }

    void theMagnitudeThatWasHandedOnComesBack()
    {
        Run run = *sampleRun();
        run.ledger[1].magnitudeHandedOn = 2.5;
        QCOMPARE(written("magnitude.retro", run), std::string());
        RETRO_MADE(read, readRun(file("magnitude.retro")));
        QCOMPARE(difference(run, **read), std::string());
    }

    void howValuesWereForwardedComesBack()
    {
        Run run = *sampleRun();
        run.facts.forwarded = {
            {ValueId(std::size_t{0}), ForwardedForm::Alias, 48, 0, false, "e_out"},
            {ValueId(std::size_t{1}), ForwardedForm::Store, 512, 512, true, "stored: a rule reads all of it"},
            {ValueId(std::size_t{2}), ForwardedForm::Compress, 4096, 130, false, ""}};
        RETRO_MADE(done, writeRun(file("forwarded.retro"), run));
        RETRO_MADE(read, readRun(file("forwarded.retro")));
        QVERIFY((*read)->facts.forwarded == run.facts.forwarded);
    }

    void aTextThatIsNoForwardedValueIsRefused_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<bool>("isGood");
        QTest::newRow("good") << "store 48 48 0 why it is so" << true;
        QTest::newRow("form") << "kept 48 48 0 why" << false;
        QTest::newRow("bytes") << "store many 48 0 why" << false;
        QTest::newRow("negative") << "store 48 -1 0 why" << false;
        QTest::newRow("fallback") << "store 48 48 2 why" << false;
        QTest::newRow("short") << "store 48" << false;
    }
    void aTextThatIsNoForwardedValueIsRefused()
    {
        QFETCH(QString, text);
        QFETCH(bool, isGood);
        ForwardedValue value;
        QCOMPARE(retro::trace::file::readForwarded(text.toStdString(), value), isGood);
    }

    void forwardedValuesAreThoseOfTheGraphEachOnce()
    {
        const auto isReadWith = [this](std::initializer_list<std::size_t> values) {
            Run run = *sampleRun();
            for (const std::size_t value : values) {
                run.facts.forwarded.push_back({ValueId(value), ForwardedForm::Store, 48, 48, false, "why"});
            }
            return writeRun(file("values.retro"), run).ok() && readRun(file("values.retro")).ok();
        };
        QVERIFY(isReadWith({0, 1}));
        QVERIFY(!isReadWith({9999}));
        QVERIFY(!isReadWith({1, 1}));
    }

    void whatAPlanIsComesBack()
    {
        Run run = *sampleRun();
        run.facts.planTries = {"shave", "dtr, order kahn", ""};
        run.facts.planTiers = {"disk"};
        RETRO_MADE(done, writeRun(file("plan.retro"), run));
        RETRO_MADE(read, readRun(file("plan.retro")));
        QCOMPARE((*read)->facts.planTries, run.facts.planTries);
        QCOMPARE((*read)->facts.planTiers, run.facts.planTiers);
    }

    void whereTheModelAndItsInputsLayComesBack()
    {
        Run run = *sampleRun();
        run.facts.modelPath = "/models/net.onnx";
        run.facts.modelDigest = "0123456789abcdef0123456789abcdef";
        run.facts.sources = {{"/data/jug.png", "fedcba9876543210fedcba9876543210"}, {"mask=zeros", ""}};
        run.facts.input.emplace().preparedBy = "option";
        RETRO_MADE(done, writeRun(file("places.retro"), run));
        RETRO_MADE(read, readRun(file("places.retro")));
        QCOMPARE((*read)->facts.modelPath, run.facts.modelPath);
        QCOMPARE((*read)->facts.modelDigest, run.facts.modelDigest);
        QVERIFY((*read)->facts.sources == run.facts.sources);
        QVERIFY((*read)->facts.input == run.facts.input);
    }

    void whatIsBeyondTheLimitsIsNotWritten()
    {
        Run run = *sampleRunWithInput();
        run.facts.input->words.assign(InputFacts::kMostWords + 1, "w");
        RETRO_REFUSED(writeRun(file("words.retro"), run), ErrorCode::Bug);
    }

    void notesComeBack()
    {
        const auto run = sampleRun();
        const std::vector<Note> notes = sampleNotes(*run);
        RETRO_MADE(done, writeRecorded(file("notes.retro"), *run, notes));
        RETRO_MADE(read, readRecorded(file("notes.retro")));
        QVERIFY(read->notes == notes);
        QCOMPARE(difference(*run, *read->run), std::string());
        QVERIFY(readRun(file("notes.retro")).ok());
        QCOMPARE(written("none.retro", *run), std::string());
        QVERIFY(readRecorded(file("none.retro"))->notes.empty());
        QVERIFY(readRecorded(RETRO_SOURCE_DIR "/tests/data/runs/version1.retro")->notes.empty());
    }

    void notesThatDoNotFitAreNotWritten()
    {
        const auto run = sampleRun();
        const std::vector<std::vector<Note>> wrong{{{run->eventCount() + 1, NoteSubject::Nothing, 0, ""}},
                                                   {{0, NoteSubject::Nothing, 0, std::string(kMostNoteBytes + 1, 'a')}},
                                                   std::vector<Note>(kMostNotes + 1)};
        for (const std::vector<Note>& notes : wrong) {
            RETRO_REFUSED(writeRecorded(file("wrong.retro"), *run, notes), ErrorCode::Bug);
            QVERIFY(!fs::exists(file("wrong.retro")));
        }
        QVERIFY(writeRecorded(file("full.retro"), *run, std::vector<Note>(kMostNotes)).ok());
        QCOMPARE(readRecorded(file("full.retro"))->notes.size(), kMostNotes);
    }

    void graphsComeBackWithAttributesAndShapes()
    {
        auto run = std::make_shared<Run>();
        run->graph = decoratedGraph();
        decorate(*run);
        QCOMPARE(written("graph.retro", *run), std::string());
        RETRO_MADE(read, readRun(file("graph.retro")));
        QCOMPARE(difference(*run, **read), std::string());
        const retro::graph::Graph& graph = *(*read)->graph;
        const auto& attributes = graph.nodes()[0].attributes;
        QCOMPARE(std::get<std::string>(attributes.at("text")), std::string("zero\0inside", 11));
        QVERIFY(std::get<std::vector<std::string>>(attributes.at("texts")) == (std::vector<std::string>{"a", "", "c"}));
        // Small constants keep their data, large ones type and shape.
        QVERIFY(graph.value(*graph.findValue("axes")).constant.isValid());
        const retro::graph::Value& weight = graph.value(*graph.findValue("W"));
        QVERIFY(!weight.constant.isValid());
        QCOMPARE(weight.shape->size(), std::size_t{2});
        QCOMPARE(*weight.shape->at(1).extent, std::int64_t{64});
    }

    void writingTwiceGivesTheSameBytes()
    {
        const auto run = sampleRunWithInput();
        QCOMPARE(written("one.retro", *run), std::string());
        QCOMPARE(written("two.retro", *run), std::string());
        QVERIFY(bytesOf(file("one.retro")) == bytesOf(file("two.retro")));
        const auto read = readRun(file("one.retro"));
        QCOMPARE(written("three.retro", **read), std::string());
        QVERIFY(bytesOf(file("one.retro")) == bytesOf(file("three.retro")));
    }

    void severalChunksAndPiecesComeBack()
    {
        auto run = std::make_shared<Run>(*RandomRun(5).make(9000));
        std::vector<float> large(5U << 20U); // 20 MiB: two pieces
        for (std::size_t i = 0; i < large.size(); i += 1000) {
            large[i] = static_cast<float>(i);
        }
        run->tensors[3] = Tensor::of<float>({5, 1 << 20}, large);
        run->values.resize(run->graph->valueCount());
        QCOMPARE(written("long.retro", *run), std::string());
        RETRO_MADE(read, readRun(file("long.retro")));
        QCOMPARE(difference(*run, **read), std::string());
        QCOMPARE((*read)->eventCount(), std::uint64_t{9001});
    }

    void aNameWithOddCharactersWorks()
    {
        const auto run = sampleRun();
        const char* name = "odd %20?&#é name.retro";
        QCOMPARE(written(name, *run), std::string());
        QVERIFY(readRun(file(name)).ok());
    }

    void anExistingFileStaysWhenWritingIsStopped()
    {
        QCOMPARE(written("old.retro", *sampleRun()), std::string());
        const std::string before = bytesOf(file("old.retro"));
        std::stop_source stop;
        stop.request_stop();
        RETRO_REFUSED(writeRun(file("old.retro"), *sampleRun(), stop.get_token()), ErrorCode::Cancelled);
        QVERIFY(bytesOf(file("old.retro")) == before);
        for (const auto& entry : fs::directory_iterator(m_folder.path().toStdString())) {
            QVERIFY2(entry.path().string().find(".tmp") == std::string::npos, entry.path().c_str());
        }
    }

    void anUnwritableFolderIsAnOutputError()
    {
        RETRO_REFUSED(writeRun(file("nowhere/a.retro"), *sampleRun()), ErrorCode::Output, "nowhere/a.retro",
                      "may write");
    }

    void aRunThatDoesNotFitItsGraphIsNotWritten()
    {
        Run run = *sampleRun();
        run.shapes.pop_back();
        RETRO_REFUSED(writeRun(file("bad.retro"), run), ErrorCode::Bug);
        QVERIFY(!fs::exists(file("bad.retro")));
    }

    void refusals_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("message");
        QTest::newRow("missing") << "missing.retro"
                                 << "no such file";
        QTest::newRow("folder") << "folder"
                                << "not a file";
        QTest::newRow("text") << "text.retro"
                              << "not a run file";
        QTest::newRow("empty") << "empty.retro"
                               << "not a run file";
        QTest::newRow("other database") << "other.retro"
                                        << "not a run file";
        QTest::newRow("newer") << "newer.retro"
                               << "format version 15, which a newer Retrograde wrote";
        QTest::newRow("unfinished") << "zero.retro"
                                    << "not a run file";
        QTest::newRow("notes in a file of version 1") << "mixed.retro"
                                                      << "its tables are not those of a run";
        QTest::newRow("trigger") << "trigger.retro"
                                 << "its tables are not those of a run";
        QTest::newRow("table instead of rows") << "view.retro"
                                               << "its tables are not those of a run";
    }

    void refusals()
    {
        QFETCH(QString, name);
        QFETCH(QString, message);
        fs::create_directories(file("folder"));
        QVERIFY(retro::base::writeFile(file("text.retro"), std::string_view("this is some text, not a run\n")).ok());
        QVERIFY(retro::base::writeFile(file("empty.retro"), std::string_view()).ok());
        for (const char* copy : {"newer.retro", "zero.retro", "trigger.retro", "view.retro", "mixed.retro"}) {
            QCOMPARE(written(copy, *sampleRun()), std::string());
        }
        fs::remove(file("other.retro"));
        execute(file("other.retro"), "CREATE TABLE t(a)");
        execute(file("newer.retro"), "PRAGMA user_version = 15");
        execute(file("mixed.retro"), "PRAGMA user_version = 1");
        execute(file("zero.retro"), "PRAGMA user_version = 0");
        execute(file("trigger.retro"), "CREATE TRIGGER t AFTER INSERT ON events BEGIN DELETE FROM events; END");
        execute(file("view.retro"), "DROP TABLE bookmarks; CREATE VIEW bookmarks AS SELECT 1");
        RETRO_REFUSED(readRun(file(name.toUtf8().constData())), ErrorCode::Input, message, name);
    }
};

QTEST_GUILESS_MAIN(RunFileTest)
#include "runfiletest.moc"
