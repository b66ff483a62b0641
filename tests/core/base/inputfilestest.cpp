// SPDX-License-Identifier: Apache-2.0
// Files that are read are not written over: through links, by other spellings, as promised outputs.
#include "core/base/inputfiles.h"
#include "core/base/file.h"
#include "core/base/mappedfile.h"
#include "core/base/outputplace.h"

#include <QTemporaryDir>
#include <QtTest>

#include <memory>
#include <sys/stat.h>

using namespace retro::base;

namespace fs = std::filesystem;

class InputFilesTest : public QObject
{
    Q_OBJECT
    QTemporaryDir m_temporary;
    const fs::path m_folder = m_temporary.path().toStdString();

    fs::path made(const char* name)
    {
        const fs::path file = m_folder / name;
        const OwnResultsScope own;
        const auto written = writeFile(file, std::string_view("x"));
        return written.ok() ? file : fs::path();
    }

    static void isRefused(const Result<void>& result, const char* words)
    {
        QVERIFY(!result.ok());
        QVERIFY2(result.error().code == ErrorCode::Usage, result.error().text().c_str());
        QVERIFY2(result.error().text().find(words) != std::string::npos, result.error().text().c_str());
    }

private slots:
    void filesAreHeldAsLongAsSomebodyHoldsThem()
    {
        const fs::path model = made("model.onnx");
        const fs::path weights = made("weights.data");
        std::shared_ptr<const HeldFiles> held;
        {
            const ReadingScope scope("the model", model);
            QVERIFY(readTextFile(model, 10).ok());
            QVERIFY(MappedFile::open(weights, 0, 1).ok());
            held = scope.files();
        }
        fs::create_hard_link(model, m_folder / "hard");
        fs::create_symlink("model.onnx", m_folder / "soft");
        for (const fs::path& file : {model, m_folder / "hard", m_folder / "soft", m_folder / "." / "model.onnx"}) {
            isRefused(writeFile(file, std::string_view("y")), "a result would be written over the model; choose");
            isRefused(checkOutputPlace(file), "over the model");
            isRefused(promiseOutput(file, "--run", "the run"), "the run would be written over the model");
        }
        isRefused(writeFile(weights, std::string_view("y")), "weights.data, a file of the model");
        QCOMPARE(*readTextFile(model, 10), std::string("x"));
        held.reset();
        QVERIFY(writeFile(m_folder / "hard", std::string_view("y")).ok());
        QVERIFY(writeFile(model, std::string_view("y")).ok());
    }

    void aNameThatLeadsToAnotherFileIsFree()
    {
        const fs::path input = made("input.npy");
        HeldFiles held;
        held.add(input, "an input");
        fs::remove(input);
        const fs::path other = made("other.npy"); // may have its number
        QVERIFY(writeFile(other, std::string_view("y")).ok());
        QVERIFY(writeFile(input, std::string_view("y")).ok());
    }

    void aFileIsHeldByEveryNameThatItWasReadBy()
    {
        const fs::path first = made("first.onnx");
        const fs::path second = m_folder / "second.onnx";
        fs::create_hard_link(first, second);
        HeldFiles before;
        before.add(first, "the model before");
        HeldFiles held;
        held.add(second, "the model");
        fs::remove(first); // a new file may get its number
        isRefused(writeFile(second, std::string_view("y")), "over the model;");
    }

    void outerScopesHoldWhatInnerOnesOpen()
    {
        const fs::path input = made("outer.npy");
        const ReadingScope outer("an input");
        {
            const ReadingScope inner("the picture", input);
            QVERIFY(readTextFile(input, 10).ok());
        }
        isRefused(writeFile(input, std::string_view("y")), "over the picture");
    }

    void ownResultsAreNoInputs()
    {
        const fs::path summary = made("summary.json");
        const ReadingScope scope("an input");
        {
            const OwnResultsScope own;
            QVERIFY(readTextFile(summary, 10).ok());
        }
        QVERIFY(writeFile(summary, std::string_view("y")).ok());
    }

    void aPromisedOutputIsNotRead()
    {
        const fs::path model = made("promised.onnx");
        QVERIFY(promiseOutput(model, "--run", "the run").ok());
        isRefused(promiseOutput(m_folder / "." / "promised.onnx", "--image", "the heatmap"),
                  "writes this file as well");
        const ReadingScope scope("the model", model);
        const auto read = readTextFile(model, 10);
        QVERIFY(!read.ok());
        QCOMPARE(QString::fromStdString(read.error().text()),
                 QStringLiteral("--run %1: the run would be written over the model; choose another name")
                     .arg(QString::fromStdString(model.string())));
    }

    void aPromisedOutputIsWrittenOnce()
    {
        const fs::path once = m_folder / "once.json";
        const fs::path grown = m_folder / "rows.parquet";
        QVERIFY(promiseOutput(once, "--run", "the run").ok());
        QVERIFY(promiseOutput(grown, "--out", "the rows", true).ok());
        for (int time = 0; time < 2; ++time) {
            QVERIFY(writeFile(grown, std::string_view("y")).ok());
        }
        QVERIFY(writeFile(once, std::string_view("y")).ok());
        isRefused(writeFile(m_folder / "." / "once.json", std::string_view("z")), "has this name as well");
        QCOMPARE(*readTextFile(once, 10), std::string("y"));
    }
};

QTEST_GUILESS_MAIN(InputFilesTest)
#include "inputfilestest.moc"
