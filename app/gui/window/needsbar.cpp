// SPDX-License-Identifier: Apache-2.0
#include "app/gui/window/needsbar.h"

#include "app/gui/shell/shell.h"
#include "core/formats/onnxmetadata.h"
#include "core/graph/graph.h"
#include "core/graph/placeholder.h"
#include "views/common/paint/fonts.h"
#include "views/common/widgets/boxes.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>

namespace retro::app
{

using views::fonts::px;

namespace
{

QString shapeWords(const graph::Value& value)
{
    if (!value.shape) {
        return QStringLiteral("?");
    }
    QStringList extents;
    for (const graph::Dimension& dimension : *value.shape) {
        const bool isKnown = dimension.extent.value_or(0) != 0;
        const std::string symbol = graph::isPlaceholder(dimension.symbol) ? "?" : dimension.symbol;
        extents << QString::fromStdString(isKnown ? std::to_string(*dimension.extent) : symbol);
    }
    return extents.join(QChar(0xd7));
}

QString namesOf(const graph::Graph& graph, std::span<const base::ValueId> values)
{
    QStringList names;
    for (const base::ValueId value : values) {
        names << QStringLiteral("%1 (%2)").arg(QString::fromStdString(graph.value(value).name),
                                               shapeWords(graph.value(value)));
    }
    return names.join(QStringLiteral(", "));
}

/// Four axes: a picture may become it, and then its pixels are taken as RGB from 0 to 1 unless somebody says otherwise.
bool isPictureLike(const graph::Graph& graph)
{
    const auto inputs = graph.inputs();
    return inputs.size() == 1 && graph.value(inputs[0]).shape && graph.value(inputs[0]).shape->size() == 4;
}

} // namespace

QString inputWords(const graph::Graph& graph) { return namesOf(graph, graph.inputs()); }

NeedsBar::NeedsBar(QWidget* parent) : QToolBar(tr("What the model needs"), parent)
{
    setObjectName(QStringLiteral("needs"));
    setMovable(false);
    setProperty(kIsAway, true);
    auto* line = new QWidget(this);
    auto* row = views::makeBox<QHBoxLayout>(line, {px(8), px(4), px(8), px(4)}, px(8));
    m_sentence = new QLabel(line);
    m_sentence->setTextFormat(Qt::PlainText);
    m_sentence->setWordWrap(true);
    m_sentence->setAccessibleName(tr("What this model needs to be explained"));
    m_sentence->setFocusPolicy(Qt::NoFocus);
    row->addWidget(m_sentence, 1);
    auto* input = new QPushButton(tr("Choose an input…"), line);
    input->setToolTip(tr("A picture, an .npy or a .txt file; it can also be dropped on the window"));
    m_random = new QPushButton(tr("Try random numbers"), line);
    m_random->setToolTip(tr("Explains the answer to random numbers: to see how relevance runs, not what it means"));
    auto* more = new QPushButton(tr("All choices"), line);
    more->setToolTip(tr("Input, preparation, target and rules in the workspace Explain"));
    row->addWidget(input);
    row->addWidget(m_random);
    row->addWidget(more);
    addWidget(line);
    connect(input, &QPushButton::clicked, this, &NeedsBar::inputWanted);
    connect(m_random, &QPushButton::clicked, this, [this] { emit sourceWanted(QStringLiteral("random:1")); });
    connect(more, &QPushButton::clicked, this, &NeedsBar::choicesWanted);
}

void NeedsBar::setModel(const engine::LoadedModelPointer& model, const engine::Question& question)
{
    setProperty(kIsAway, model == nullptr);
    if (model == nullptr) {
        m_sentence->clear();
        return;
    }
    const graph::Graph& graph = *model->graph();
    if (const std::string what = formats::explanationText(model->path); !what.empty()) {
        m_sentence->setText(
            tr("%1%2. It needs %3.")
                .arg(QChar(what.front()).toUpper(), QString::fromStdString(what.substr(1)), inputWords(graph)));
        m_random->hide();
        return;
    }
    const bool isOne = graph.inputs().size() == 1;
    const QString values =
        isPictureLike(graph) ? tr(" Pixels are taken as RGB from 0 to 1, channels first: a guess.") : QString();
    const QString target = question.targets.empty() || question.targets.front() == "argmax"
                               ? tr("the largest score")
                               : QString::fromStdString(question.targets.front());
    m_sentence->setText(tr("To be explained this model needs %1: %2.%3 Explained is %4 of %5.")
                            .arg(isOne ? tr("an input") : tr("inputs"), inputWords(graph), values, target,
                                 namesOf(graph, graph.outputs())));
    m_random->setVisible(isOne);
}

QString NeedsBar::sentence() const { return m_sentence->text(); }

} // namespace retro::app

#include "moc_needsbar.cpp"
