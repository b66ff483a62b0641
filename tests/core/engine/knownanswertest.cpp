// SPDX-License-Identifier: Apache-2.0
// The small samples, each with an answer that is known beforehand: where relevance vanishes, which step decides, on
// which object a segment's relevance lies.
#include <QtTest>

#include "core/engine/explain/explain.h"
#include "core/engine/input/inputs.h"
#include "core/engine/input/tokenwords.h"
#include "core/tensor/npy.h"
#include "core/trace/ledgersummary.h"

#include <cmath>

using namespace retro;

namespace
{

const std::filesystem::path kSamples = RETRO_SOURCE_DIR "/samples";

engine::LoadedModelPointer load(const char* file)
{
    auto model = engine::loadModel(kSamples / file);
    return model.ok() && (*model)->card ? *model : nullptr;
}

/// The card's rules and target on one of its inputs.
base::Result<engine::ExplainResult> explainFile(const engine::LoadedModel& model, const std::string& file)
{
    engine::ExplainRequest request;
    RETRO_TRY(request.inputs, engine::resolveInputs({(model.path.parent_path() / file).string()}, *model.graph(),
                                                    engine::pictureOptions(&*model.card)));
    request.composite = model.card->composite;
    request.record = true;
    return engine::explain(model, request);
}

/// Relevance per step: row by row of [N, steps, channels], channels added up.
std::vector<std::vector<double>> stepSums(const tensor::Tensor& relevance)
{
    const tensor::Tensor plain = relevance.contiguous();
    const tensor::Shape& shape = plain.shape();
    std::vector<std::vector<double>> sums(static_cast<std::size_t>(shape[0]));
    for (std::int64_t i = 0; i < plain.size(); ++i) {
        auto& row = sums[static_cast<std::size_t>(i / (shape[1] * shape[2]))];
        row.resize(static_cast<std::size_t>(shape[1]));
        row[static_cast<std::size_t>(i / shape[2] % shape[1])] += plain.at(i);
    }
    return sums;
}

std::size_t largestByAmount(const std::vector<double>& values)
{
    const auto less = [](double a, double b) { return std::abs(a) < std::abs(b); };
    return static_cast<std::size_t>(std::max_element(values.begin(), values.end(), less) - values.begin());
}

/// The step whose mark (the second of two channels) is set.
std::vector<std::size_t> markedSteps(const tensor::Tensor& series)
{
    std::vector<std::size_t> marked;
    for (std::int64_t i = 1; i < series.size(); i += 2) {
        if (series.at(i) > 0) {
            marked.push_back(static_cast<std::size_t>(i / 2 % series.shape()[1]));
        }
    }
    return marked;
}

/// Share of the positive relevance of 1 × C × H × W inside a box, channels added up.
double shareInside(const tensor::Tensor& relevance, const std::array<int, 4>& box)
{
    const tensor::Tensor plain = relevance.contiguous();
    const std::int64_t width = plain.shape()[3];
    const std::int64_t area = plain.shape()[2] * width;
    double all = 0;
    double inside = 0;
    for (std::int64_t p = 0; p < area; ++p) {
        double v = 0;
        for (std::int64_t c = 0; c < plain.shape()[1]; ++c) {
            v += plain.at(c * area + p);
        }
        const std::int64_t x = p % width - box[0];
        const std::int64_t y = p / width - box[1];
        all += std::max(v, 0.0);
        inside += x >= 0 && x < box[2] && y >= 0 && y < box[3] ? std::max(v, 0.0) : 0;
    }
    return inside / all;
}

} // namespace

class KnownAnswerTest : public QObject
{
    Q_OBJECT

private slots:
    void relevanceVanishesAtTheGroupedConvolutionAlone()
    {
        const auto model = load("silent-groups/silent-groups.onnx");
        QVERIFY(model && model->card->pictures.size() == 4);
        double worst = 0;
        for (const formats::CardPicture& picture : model->card->pictures) {
            RETRO_MADE(result, explainFile(*model, picture.file));
            QCOMPARE(QString::fromStdString(model->card->labels[static_cast<std::size_t>(result->target.index[0])]),
                     QString::fromStdString(picture.trueClass));
            const trace::LedgerSummary ledger = trace::summarise(*result->run);
            const trace::NodeBalance& first = ledger.nodes.front();
            QCOMPARE(result->run->graph->labelOf(first.node), std::string("/leaky/conv/Conv"));
            QVERIFY(first.largestCause() == event::Cause::ZeroDenominator);
            const double lost = first.causes[static_cast<std::size_t>(event::Cause::ZeroDenominator)] / ledger.start;
            QVERIFY2(lost > 0.05, picture.file.c_str());
            worst = std::max(worst, lost);
            QVERIFY2(ledger.nodes[1].turnover() < 1e-4 * ledger.start, picture.file.c_str()); // nowhere else
        }
        QVERIFY(worst > 0.25);
    }

    void nothingVanishesWhereEveryFilterSeesEveryChannel()
    {
        RETRO_MADE(model, load("silent-groups/one-group.onnx"));
        for (const formats::CardPicture& picture : model->card->pictures) {
            RETRO_MADE(result, explainFile(*model, picture.file));
            QVERIFY(result->relevanceStart > 0);
            QVERIFY(std::abs(result->relevanceInputs - result->relevanceStart) < 1e-3 * result->relevanceStart);
        }
    }

    void theMarkedStepOfTheSeriesDecides()
    {
        RETRO_MADE(model, load("marked-step/marked-step.onnx"));
        RETRO_MADE(series, tensor::readNpy(kSamples / "marked-step/held-out.npy"));
        engine::ExplainRequest request;
        request.inputs = {*series};
        request.composite = model->card->composite;
        RETRO_MADE(result, engine::explain(*model, request));
        const auto sums = stepSums(result->relevance[model->graph()->inputs()[0].index()]);
        const std::vector<std::size_t> marked = markedSteps(*series);
        QCOMPARE(marked.size(), std::size_t{200});
        QCOMPARE(sums.size(), marked.size());
        std::size_t found = 0;
        for (std::size_t i = 0; i < sums.size(); ++i) {
            found += largestByAmount(sums[i]) == marked[i] ? 1 : 0;
        }
        QVERIFY2(found >= 190, qPrintable(QString::number(found)));
    }

    void thePlantedWordHasTheMostRelevanceInTheCheatAlone_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("least");
        QTest::addColumn<int>("most");
        QTest::newRow("cheat") << "planted-word.onnx" << 95 << 100;
        QTest::newRow("control") << "control.onnx" << 0 << 10;
    }

    void thePlantedWordHasTheMostRelevanceInTheCheatAlone()
    {
        QFETCH(QString, file);
        QFETCH(int, least);
        QFETCH(int, most);
        const auto model = load(qPrintable(QStringLiteral("planted-word/") + file));
        QVERIFY(model && model->card->vocabulary.front() == "sponsored");
        RETRO_MADE(reviews, tensor::readNpy(kSamples / "planted-word/held-out.npy"));
        engine::ExplainRequest request;
        request.inputs = {*reviews};
        request.composite = model->card->composite;
        RETRO_MADE(result, engine::explain(*model, request));
        const tensor::Tensor relevance = result->relevance[model->graph()->inputs()[0].index()].contiguous();
        QCOMPARE(relevance.shape(), reviews->shape());
        int found = 0;
        const std::int64_t length = relevance.shape()[1];
        for (std::int64_t row = 0; row < relevance.shape()[0]; ++row) {
            std::int64_t best = row * length;
            for (std::int64_t i = row * length; i < (row + 1) * length; ++i) {
                best = relevance.at(i) > relevance.at(best) ? i : best;
            }
            found += reviews->at(best) == 0 ? 1 : 0; // the planted word has the number 0
        }
        QVERIFY2(found >= least && found <= most, qPrintable(QString::number(found)));
    }

    void theWordsOfATextComeFromTheCard()
    {
        formats::ModelCard card;
        const std::vector<std::int64_t> numbers{1, 0, 7, -1};
        const auto tokens = tensor::Tensor::of<std::int64_t>({1, 4}, std::span<const std::int64_t>(numbers));
        QVERIFY(engine::tokenWords(card, tokens).empty());
        card.vocabulary = {"zero", "one"};
        QCOMPARE(engine::tokenWords(card, tokens), (std::vector<std::string>{"one", "zero", "#7", "#-1"}));
        QVERIFY(engine::tokenWords(card, tokens.to(tensor::DType::Float32)).empty());
        QVERIFY(engine::tokenWords(card, tensor::Tensor()).empty());
    }

    void theRelevanceOfASegmentLiesOnItsObject()
    {
        RETRO_MADE(model, load("one-segment/one-segment.onnx"));
        const auto& labels = model->card->labels;
        const auto house = std::find(labels.begin(), labels.end(), model->card->target) - labels.begin();
        int scenes = 0;
        for (const formats::CardPicture& picture : model->card->pictures) {
            engine::ExplainRequest request;
            const auto inputs = engine::resolveInputs({(model->path.parent_path() / picture.file).string()},
                                                      *model->graph(), engine::pictureOptions(&*model->card));
            QVERIFY(inputs.ok() && picture.objectBox);
            request.inputs = *inputs;
            request.composite = model->card->composite;
            request.target = {engine::TargetRequest::Kind::Class, house, {}, {}};
            RETRO_MADE(result, engine::explain(*model, request));
            const double share =
                shareInside(result->relevance[model->graph()->inputs()[0].index()], *picture.objectBox);
            QVERIFY2(share > 0.75, qPrintable(QString::number(share)));
            ++scenes;
        }
        QCOMPARE(scenes, 3);
    }
};

QTEST_GUILESS_MAIN(KnownAnswerTest)
#include "knownanswertest.moc"
