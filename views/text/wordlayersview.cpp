// SPDX-License-Identifier: Apache-2.0
#include "views/text/wordlayersview.h"

#include "core/base/file.h"
#include "views/common/csv.h"
#include "views/common/paint/fonts.h"
#include "views/common/paint/paintfile.h"
#include "views/common/run/runtexts.h"
#include "views/common/widgets/boxes.h"
#include "views/common/widgets/flowlayout.h"
#include "views/text/layersmatrix.h"
#include "views/text/textfocus.h"
#include "views/text/tokencolumns.h"

#include <QCheckBox>
#include <QComboBox>
#include <QPainter>
#include <QVBoxLayout>

#include <algorithm>

namespace retro::views
{

namespace
{

constexpr double kMostPictureWidth = 14'000; // of a written picture; wider ones show the columns in sight

/// A line per row and word.
std::string csvOf(const TextFocus& focus, bool isByHead)
{
    CsvText text({isByHead ? "head" : "layer", "position", "token", "relevance"});
    const int rows = isByHead ? focus.headCount() : focus.layerCount() + 1;
    for (int row = 0; row < rows; ++row) {
        for (int token = 0; token < focus.tokenCount(); ++token) {
            text.row(row, token, focus.text()->tokens[static_cast<std::size_t>(token)].text,
                     isByHead ? focus.atHead(row, token) : focus.atLayer(row, token));
        }
    }
    return text.take();
}

} // namespace

WordLayersView::WordLayersView(RunModel& model, Cursor& cursor, Selection& selection, TextFocus& focus, QWidget* parent)
    : View(model, cursor, selection, parent), m_focus(focus)
{
    setAccessibleName(tr("Words × layers"));
    setEmptyText(tr("No text yet. Open a language model, write a text and run."));
    auto* body = new QWidget(this);
    auto* column = makeBox<QVBoxLayout>(body, {}, fonts::px(4));
    auto* tools = new QWidget(body);
    auto* row = new FlowLayout(fonts::px(8), fonts::px(2), tools);
    row->setContentsMargins(fonts::px(10), 0, fonts::px(10), 0);
    m_rows = new QComboBox(tools);
    m_rows->setAccessibleName(tr("Rows"));
    m_rows->setToolTip(tr("A row per layer, or per head of the layer that is shown"));
    m_rows->addItems({tr("layers"), tr("heads")});
    row->addWidget(m_rows);
    m_own = new QCheckBox(tr("each row by its own largest"), tools);
    m_own->setToolTip(tr("Colours of each row by its own largest relevance, in place of one scale for all"));
    row->addWidget(m_own);
    m_matrix = new LayersMatrix(focus, body);
    column->addWidget(tools);
    column->addWidget(m_matrix, 1);
    setBody(body);
    connect(m_rows, &QComboBox::activated, this, [this](int at) {
        m_matrix->setByHead(at == 1);
        emit captionChanged();
    });
    connect(m_own, &QCheckBox::toggled, m_matrix, &LayersMatrix::setOwnScales);
    connect(m_matrix, &LayersMatrix::chosen, this, &WordLayersView::choose);
    connect(&focus, &TextFocus::textChanged, this, &WordLayersView::takeText);
    connect(&focus, &TextFocus::changed, this, &WordLayersView::takeFocus);
    takeFocus();
}

QString WordLayersView::subject() const
{
    if (!m_focus.hasText()) {
        return {};
    }
    return m_matrix->isByHead() ? tr("relevance of each word at each head of layer %1").arg(m_focus.layer())
                                : tr("relevance of each word at each layer");
}

QString WordLayersView::hint() const
{
    return tr("The score starts on top and falls row by row to the words. The line is the present step; drag it. Ctrl "
              "and the wheel make columns wider or narrower.");
}

bool WordLayersView::canShow(const SelectedThing& thing) const
{
    if (!model().hasRun() || !m_focus.hasText()) {
        return false;
    }
    const base::ValueId value = model().valueOf(thing);
    const auto& streams = m_focus.text()->streams;
    return value.isValid() && std::ranges::find(streams, value) != streams.end();
}

QString WordLayersView::emptyReason() const
{
    if (!m_focus.hasText()) {
        return tr("This run is of no text, or was recorded without its words.");
    }
    return m_focus.layerCount() == 0 ? tr("No layers were found in this model. explain --layers FILE.json names them.")
                                     : QString();
}

void WordLayersView::takeText()
{
    findArrivals();
    takeFocus();
    schedule(Change::Run);
    emit captionChanged();
}

void WordLayersView::takeFocus()
{
    const bool hasHeads = m_focus.hasText() && m_focus.headCount() > 0;
    m_rows->setVisible(hasHeads);
    if (!hasHeads && m_matrix->isByHead()) {
        m_rows->setCurrentIndex(0);
        m_matrix->setByHead(false);
    }
    showArrived();
    emit captionChanged();
}

void WordLayersView::findArrivals()
{
    m_arrivals.clear();
    if (!m_focus.hasText() || !model().hasRun()) {
        return;
    }
    for (const base::ValueId value : m_focus.text()->streams) {
        const base::NodeId node =
            value.index() < model().graph().valueCount() ? model().graph().nodeOf(value) : base::NodeId();
        std::optional<std::uint64_t> step;
        if (node.isValid()) {
            const auto outputs = model().graph().outputsOf(node);
            const auto at = std::find(outputs.begin(), outputs.end(), value);
            step = at == outputs.end() ? std::nullopt
                                       : model().relevanceStep(node, static_cast<std::uint32_t>(at - outputs.begin()));
        }
        m_arrivals.push_back(step);
    }
}

void WordLayersView::showArrived()
{
    std::vector<bool> arrived;
    int current = -1;
    if (m_focus.hasText() && m_focus.step() == 0 && model().hasRun()) { // other steps are passes of their own
        std::uint64_t latest = 0;
        for (std::size_t row = 0; row < m_arrivals.size(); ++row) {
            const bool isThere = !m_arrivals[row] || *m_arrivals[row] <= model().position();
            arrived.push_back(isThere);
            if (m_arrivals[row] && isThere && *m_arrivals[row] >= latest) {
                latest = *m_arrivals[row];
                current = static_cast<int>(row);
            }
        }
    }
    m_matrix->setArrived(std::move(arrived), current);
}

void WordLayersView::refresh(Changes changes)
{
    if (changes.testFlag(Change::Run)) {
        findArrivals();
    }
    const int before = m_matrix->currentRow();
    showArrived();
    const int now = m_matrix->currentRow();
    if (now >= 0 && now != before) { // links are those of the layer that the cursor has come to
        m_focus.setLayer(std::min(now, m_focus.layerCount() - 1));
    }
}

void WordLayersView::choose(int row, int token)
{
    m_focus.setToken(token >= 0 ? token : m_focus.token());
    if (row < 0 || !model().hasRun()) {
        return;
    }
    const trace::RunText& text = *m_focus.text();
    if (m_matrix->isByHead()) {
        m_focus.setHead(row);
        const auto layer = static_cast<std::size_t>(m_focus.layer());
        if (layer < text.heads.size()) {
            selection().selectValue(text.heads[layer]);
        }
        return;
    }
    const auto at = static_cast<std::size_t>(row);
    if (m_focus.step() == 0 && at < m_arrivals.size() && m_arrivals[at]) {
        cursor().moveTo(*m_arrivals[at]);
    }
    m_focus.setLayer(std::min(row, m_focus.layerCount() - 1));
    if (at < text.streams.size()) {
        selection().selectValue(text.streams[at]);
    }
}

base::Result<void> WordLayersView::exportTo(const std::filesystem::path& path)
{
    if (!model().hasRun() || !m_focus.hasText() || m_focus.layerCount() == 0) {
        return base::usageError("there are no layers of a text to write", path.string());
    }
    if (path.extension() == ".csv") {
        return base::writeFile(path, csvOf(m_focus, m_matrix->isByHead()));
    }
    const TokenColumns columns = TokenColumns::of(m_focus, m_matrix->viewport()->width());
    const double whole = columns.names + columns.sums + columns.width * columns.count;
    const QSizeF size(whole <= kMostPictureWidth ? whole : m_matrix->viewport()->width(), m_matrix->heightOfAll());
    const auto paint = [&](QPainter& painter) { m_matrix->paintAll(painter, size, Theme::of(ThemeKind::Light)); };
    return paintToFile(path, size, paint, title(), runTexts(model().run(), model().position()), 2);
}

} // namespace retro::views

#include "moc_wordlayersview.cpp"
