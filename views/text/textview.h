// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/trace/run.h"
#include "core/trace/runtext.h"
#include "views/common/view.h"

#include <functional>

class QComboBox;
class QLabel;
class QSlider;
class QSplitter;

namespace retro::views
{

class LinksPane;
class TextFocus;
class WordStrip;

/// Writes a text of a run as .html, .json or .csv.
using TextWriter =
    std::function<base::Result<void>(const trace::RunText&, const trace::Run&, const std::filesystem::path&)>;

/// The words of a text with their relevance, and what one attention handed from word to word, for each explained step.
class TextView final : public View
{
    Q_OBJECT

public:
    /// `focus` must outlive the view.
    TextView(RunModel& model, Cursor& cursor, Selection& selection, TextFocus& focus, QWidget* parent = nullptr);

    [[nodiscard]] QString title() const override { return tr("Text"); }
    [[nodiscard]] QString subject() const override;
    [[nodiscard]] QString hint() const override;
    [[nodiscard]] bool canShow(const SelectedThing& thing) const override;
    [[nodiscard]] base::Result<void> exportTo(const std::filesystem::path& path) override;
    [[nodiscard]] QByteArray saveState() const override;
    void restoreState(const QByteArray& state) override;

    /// Who writes pages and tables; without one there are pictures alone.
    void setWriter(TextWriter writer) { m_writer = std::move(writer); }
    [[nodiscard]] WordStrip& strip() const { return *m_strip; }
    [[nodiscard]] LinksPane& links() const { return *m_links; }

signals:
    /// The next run shall ask behind the token at `position` for `target` (empty = the best word).
    void questionWanted(qint64 position, const QString& target);

protected:
    void refresh(Changes changes) override;
    [[nodiscard]] QString emptyReason() const override;

private:
    [[nodiscard]] QWidget* makeTools();
    void takeText();
    void takeFocus();
    void chooseWord(int token);
    void showMenu(int token, const QPoint& place);
    void takeThreshold();
    void fitStrip();

    TextFocus& m_focus;
    TextWriter m_writer;
    QSplitter* m_parts = nullptr;
    WordStrip* m_strip = nullptr;
    LinksPane* m_links = nullptr;
    QComboBox* m_step = nullptr;
    QComboBox* m_layer = nullptr;
    QComboBox* m_head = nullptr;
    QSlider* m_threshold = nullptr;
    QLabel* m_thresholdText = nullptr;
};

} // namespace retro::views
