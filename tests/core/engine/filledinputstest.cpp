// SPDX-License-Identifier: Apache-2.0
// Inputs of language models that are filled in: masks, positions, pasts; and the residual streams of a small one.
#include "core/engine/language/filledinputs.h"
#include "core/base/file.h"
#include "core/engine/language/residualstreams.h"
#include "core/engine/model/binding.h"
#include "tests/core/formats/protomodel.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <cctype>
#include <filesystem>

using namespace retro;
using namespace retro::tests;
using onnxschema::TensorProto;
using tensor::DType;
using Extents = std::vector<std::string>; // numbers, or names of free axes

namespace
{

void addInput(ProtoModel& model, const std::string& name, TensorProto::DataType type, const Extents& extents)
{
    auto& value = *model.proto().mutable_graph()->add_input();
    value.set_name(name);
    auto& tensor = *value.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (const std::string& extent : extents) {
        auto& axis = *tensor.mutable_shape()->add_dim();
        if (std::isdigit(static_cast<unsigned char>(extent.front())) != 0) {
            axis.set_dim_value(std::stoll(extent));
        } else {
            axis.set_dim_param(extent);
        }
    }
}

/// Tokens, mask, positions and a past of which the model itself says nothing but the number of axes.
ProtoModel withPast()
{
    ProtoModel model;
    addInput(model, "input_ids", TensorProto::INT64, {"batch", "tokens"});
    addInput(model, "attention_mask", TensorProto::INT64, {"batch", "all"});
    addInput(model, "position_ids", TensorProto::INT32, {"batch", "tokens"});
    addInput(model, "past_key_values.0.key", TensorProto::FLOAT, {"batch", "heads", "past", "width"});
    model.constant("table", wavy({7, 4}, 0)).output("y");
    return model.node("Gather", {"table", "input_ids"}, {"y"});
}

class ModelFolder
{
public:
    explicit ModelFolder(const ProtoModel& model)
    {
        const auto bytes = model.bytes();
        const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
        m_isWritten = base::writeFile(path("model.onnx"), text).ok();
    }
    void add(const std::string& name, const std::string& text)
    {
        m_isWritten = m_isWritten && base::writeFile(path(name), text).ok();
    }
    [[nodiscard]] bool isWritten() const { return m_isWritten; }
    [[nodiscard]] engine::LoadedModelPointer load() const { return engine::loadModel(path("model.onnx")).value(); }

private:
    [[nodiscard]] std::filesystem::path path(const std::string& name) const
    {
        return std::filesystem::path(m_folder.path().toStdString()) / name;
    }

    QTemporaryDir m_folder;
    bool m_isWritten = false;
};

Tensor tokens() { return Tensor::of<std::int64_t>({1, 3}, std::vector<std::int64_t>{5, 0, 2}); }

std::vector<double> numbersOf(const Tensor& t)
{
    std::vector<double> numbers;
    for (std::int64_t i = 0; i < t.size(); ++i) {
        numbers.push_back(t.at(i));
    }
    return numbers;
}

} // namespace

class FilledInputsTest : public QObject
{
    Q_OBJECT
private slots:
    void extentsOfAPastComeFromFilesBesideTheModel()
    {
        ModelFolder folder(withPast());
        QVERIFY(folder.isWritten());
        std::vector<Tensor> inputs{tokens(), {}, {}, {}};
        RETRO_REFUSED(engine::fillLanguageInputs(*folder.load(), inputs), "past_key_values.0.key");

        folder.add("config.json", R"({"num_attention_heads": 6, "num_key_value_heads": 2, "hidden_size": 48})");
        inputs = {tokens(), {}, {}, {}};
        QVERIFY(engine::fillLanguageInputs(*folder.load(), inputs).ok());
        QCOMPARE(inputs[3].shape(), (Shape{1, 2, 0, 8}));

        folder.add("genai_config.json",
                   R"({"model": {"decoder": {"head_size": 5, "num_attention_heads": 6, "num_key_value_heads": 3}}})");
        inputs = {tokens(), {}, {}, {}};
        QVERIFY(engine::fillLanguageInputs(*folder.load(), inputs).ok());
        QCOMPARE(inputs[3].shape(), (Shape{1, 3, 0, 5}));

        folder.add("genai_config.json", R"({"model": {"decoder": {"head_size": -5, "num_key_value_heads": "x"}}})");
        inputs = {tokens(), {}, {}, {}};
        QVERIFY(engine::fillLanguageInputs(*folder.load(), inputs).ok());
        QCOMPARE(inputs[3].shape(), (Shape{1, 2, 0, 8}));
    }

    void masksAndPositionsGoWithThePast()
    {
        const ModelFolder folder(withPast());
        const auto model = folder.load();
        std::vector<Tensor> inputs{tokens(), {}, {}, Tensor::zeros(DType::Float32, {1, 2, 4, 8})};
        RETRO_MADE(filled, engine::fillLanguageInputs(*model, inputs));
        QCOMPARE(filled->size(), 2U);
        QCOMPARE(numbersOf(inputs[1]), std::vector<double>(7, 1));
        QCOMPARE(numbersOf(inputs[2]), (std::vector<double>{4, 5, 6}));
        QVERIFY(inputs[2].dtype() == DType::Int32);

        const Tensor mask = Tensor::of<std::int64_t>({1, 5}, std::vector<std::int64_t>{0, 1, 1, 1, 1});
        inputs = {tokens(), mask, {}, Tensor::zeros(DType::Float32, {1, 2, 2, 8})};
        QVERIFY(engine::fillLanguageInputs(*model, inputs).ok());
        QCOMPARE(numbersOf(inputs[1]), (std::vector<double>{0, 1, 1, 1, 1}));
        QCOMPARE(numbersOf(inputs[2]), (std::vector<double>{2, 3, 4}));
    }

    void withoutTokensNothingIsFilledIn()
    {
        const ModelFolder folder(withPast());
        std::vector<Tensor> inputs(4);
        const auto filled = engine::fillLanguageInputs(*folder.load(), inputs);
        QVERIFY(filled.ok() && filled->empty());
        QVERIFY(std::ranges::none_of(inputs, &Tensor::isValid));
    }

    void aModelWithoutAttentionHasNoLayers()
    {
        const ModelFolder folder(withPast());
        const auto model = folder.load();
        std::vector<Tensor> inputs{tokens(), {}, {}, Tensor::zeros(DType::Float32, {1, 2, 0, 8})};
        QVERIFY(engine::fillLanguageInputs(*model, inputs).ok());
        RETRO_MADE(bound, engine::bindModel(*model, inputs, execute::Precision::Float));
        RETRO_REFUSED(engine::residualStreams(**bound), "--layers");
    }
};

QTEST_GUILESS_MAIN(FilledInputsTest)
#include "filledinputstest.moc"
