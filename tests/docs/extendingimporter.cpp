// SPDX-License-Identifier: Apache-2.0
// The example of docs/extending/importer.md: compiled, run, and compared with the page letter by letter.
#include <QtTest>

#include "app/gui/window/filefilters.h"
#include "core/base/file.h"
#include "core/engine/model/loadmodel.h"
#include "core/execute/forward.h"
#include "core/formats/modelfile.h"
#include "core/graph/graphbuilder.h"
#include "tests/docs/snippet.h"

#include <fmt/format.h>

#include <QTemporaryDir>

#include <algorithm>
#include <array>
#include <regex>
#include <sstream>

using namespace retro;

namespace
{

// [example]
/// Reads a small text in the manner of MLIR, one operation a line:
///     func @name
///     %x = input : 2x3
///     %w = constant 1 2 3 : 3
///     %y = "Add"(%x, %w)
///     return %y
class TextImporter
{
public:
    explicit TextImporter(std::string where) : m_where(std::move(where)) {}

    base::Result<graph::Graph> read(const std::string& text)
    {
        m_builder.setOpset("", 17); // the operators are ONNX's, of this version
        std::istringstream lines(text);
        for (std::string line; std::getline(lines, line); ++m_line) {
            RETRO_CHECK(readLine(line));
        }
        return std::move(m_builder).build(); // finds cycles, and operands that nobody provides
    }

private:
    base::Result<void> readLine(const std::string& line)
    {
        static const std::regex kFunction(R"(\s*(func @\w+)?\s*)");
        static const std::regex kInput(R"(\s*%(\w+) = input : ([0-9x]+)\s*)");
        static const std::regex kConstant(R"(\s*%(\w+) = constant ([-+.e0-9 ]+) : ([0-9x]+)\s*)");
        static const std::regex kNode(R"re(\s*%(\w+) = "(\w+)"\(([%\w, ]*)\)\s*)re");
        static const std::regex kReturn(R"(\s*return %(\w+)\s*)");
        std::smatch part;
        if (std::regex_match(line, part, kFunction)) {
            return {};
        }
        if (std::regex_match(line, part, kInput)) {
            m_builder.addInput(part[1], tensor::DType::Float32, shapeOf(part[2]));
            return {};
        }
        if (std::regex_match(line, part, kConstant)) {
            return addConstant(part[1], part[2], shapeOf(part[3]));
        }
        if (std::regex_match(line, part, kNode)) {
            addNode(part[1], part[2], part[3]);
            return {};
        }
        if (std::regex_match(line, part, kReturn)) {
            m_builder.addOutput(valueOf(part[1]));
            return {};
        }
        return error("this is neither func, input, constant, an operator nor return");
    }

    base::Result<void> addConstant(const std::string& name, const std::string& numbers, const tensor::Shape& shape)
    {
        std::vector<float> values;
        std::istringstream in(numbers);
        for (float value = 0; in >> value;) {
            values.push_back(value);
        }
        const auto count = static_cast<std::int64_t>(values.size());
        if (tensor::elementCount(shape) != count) {
            return error(fmt::format("{} numbers do not fill the shape {}", count, tensor::toText(shape)));
        }
        m_builder.addConstant(name, tensor::Tensor::of<float>(shape, values));
        return {};
    }

    void addNode(const std::string& result, const std::string& op, const std::string& operands)
    {
        graph::Node node;
        node.op = op;
        node.name = result;
        node.opset = 17;
        static const std::regex kName(R"(%(\w+))");
        for (std::sregex_iterator at(operands.begin(), operands.end(), kName), end; at != end; ++at) {
            node.inputs.push_back(valueOf((*at)[1]));
        }
        node.outputs.push_back(valueOf(result));
        m_builder.addNode(std::move(node));
    }

    /// A value may be named before the line that makes it.
    graph::ValueId valueOf(const std::string& name)
    {
        const auto known = m_builder.find(name);
        return known ? *known : m_builder.addResult(name);
    }

    static tensor::Shape shapeOf(std::string text)
    {
        std::replace(text.begin(), text.end(), 'x', ' ');
        tensor::Shape shape;
        std::istringstream in(text);
        for (std::int64_t extent = 0; in >> extent;) {
            shape.push_back(extent);
        }
        return shape;
    }

    [[nodiscard]] base::Error error(std::string message) const
    {
        return base::inputError(std::move(message), fmt::format("{}, line {}", m_where, m_line));
    }

    std::string m_where;
    int m_line = 1;
    graph::GraphBuilder m_builder;
};

/// Largest file that is read, in bytes.
constexpr std::uint64_t kMostBytes = 64ULL << 20U;

base::Result<std::shared_ptr<const graph::Graph>> readText(const std::filesystem::path& path, const std::stop_token&,
                                                           formats::FileNotes*, const formats::ReadOptions&)
{
    RETRO_TRY(const std::string text, base::readTextFile(path, kMostBytes));
    RETRO_TRY(graph::Graph graph, TextImporter(path.string()).read(text));
    return std::make_shared<const graph::Graph>(std::move(graph));
}

/// The line of the table of formats.
const formats::ModelFormat kTextFormat{.title = "toy text", .endings = {"toy"}, .read = readText};
// [end]

base::Result<graph::Graph> read(const std::string& text) { return TextImporter("toy.mlir").read(text); }

} // namespace

class ExtendingImporter : public QObject
{
    Q_OBJECT

private slots:
    void thePageShowsThisCode()
    {
        const QString code =
            tests::between(tests::sourceText("tests/docs/extendingimporter.cpp"), "// [example]", "// [end]");
        const QString page = tests::between(tests::sourceText("docs/extending/importer.md"), "```cpp", "```");
        QVERIFY(!code.isEmpty());
        QCOMPARE(page, code);
    }

    void theTextOfThePageRuns()
    {
        const QString text = tests::between(tests::sourceText("docs/extending/importer.md"), "```mlir", "```");
        auto graph = read(text.toStdString());
        QVERIFY2(graph.ok(), graph.ok() ? "" : graph.error().text().c_str());
        const std::array types{ops::TensorType{tensor::DType::Float32, {2, 3}}};
        auto model = execute::BoundModel::bind(std::make_shared<const graph::Graph>(std::move(graph).value()), types,
                                               execute::Precision::Float);
        QVERIFY2(model.ok(), model.ok() ? "" : model.error().text().c_str());
        const std::array inputs{tensor::Tensor::of<float>({2, 3}, std::vector<float>{0, 0, 0, 1, 1, 1})};
        const auto result = execute::forward(*model, inputs, execute::SavePolicy::Autograd);
        std::vector<double> numbers;
        for (std::int64_t i = 0; i < 6; ++i) {
            numbers.push_back(result->outputs[0].at(i));
        }
        QVERIFY((numbers == std::vector<double>{1, 0, 3, 2, 0, 4}));
    }

    // Added, it is seen everywhere with no further line.
    void everybodySeesTheFormat()
    {
        QVERIFY(!app::isModelOrRun(QStringLiteral("scores.toy")));
        formats::addModelFormat(kTextFormat);
        QVERIFY(app::isModelOrRun(QStringLiteral("scores.toy"))); // may be dropped on the window
        const QString filters = app::openFilters();
        QVERIFY2(filters.startsWith("Models and runs (*.toy *.json *.onnx "), qPrintable(filters));
        QVERIFY2(filters.contains("Toy text (*.toy);;"), qPrintable(filters));
        QVERIFY(formats::modelFormatsText().starts_with("toy text (.toy), graph JSON (.json)")); // as --help has it
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("scores.toy")).toStdString();
        const QString text = tests::between(tests::sourceText("docs/extending/importer.md"), "```mlir", "```");
        QVERIFY(base::writeFile(path, text.toStdString()).ok());
        const auto model = engine::loadModel(path);
        QVERIFY2(model.ok(), model.ok() ? "" : model.error().text().c_str());
        QCOMPARE((*model)->graph()->nodeCount(), std::size_t{2});
        QCOMPARE(formats::writeModelFile(folder.filePath(QStringLiteral("b.toy")).toStdString(), *(*model)->graph())
                     .error()
                     .message,
                 std::string("a graph is written as .json or .onnx; end the name so")); // it is only read
    }

    void errorsNameTheLine()
    {
        const auto problem = [](const char* text) { return QString::fromStdString(read(text).error().text()); };
        QCOMPARE(problem("func @f\n%x = 3\n"),
                 QString("toy.mlir, line 2: this is neither func, input, constant, an operator nor return"));
        QVERIFY(problem("%w = constant 1 2 : 3\n").contains("line 1: 2 numbers do not fill the shape 3"));
        QVERIFY(problem("%y = \"Relu\"(%x)\nreturn %y\n").contains("reads the value 'x', which no node"));
    }
};

QTEST_GUILESS_MAIN(ExtendingImporter)
#include "extendingimporter.moc"
