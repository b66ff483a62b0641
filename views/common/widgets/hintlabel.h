// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QLabel>
#include <QTextLayout>

namespace retro::views
{

/// The sentence under a title: one line, or two where the pane is narrow. What needs more ends in …, with the whole
/// sentence as tool tip. Words may stand before it, in the same line.
class HintLabel final : public QLabel
{
    Q_OBJECT

public:
    explicit HintLabel(QWidget* parent = nullptr);

    /// What stands before the sentence: a name in bold, and what it is of. Both may be empty.
    void setLead(const QString& name, const QString& subject);
    /// Lead and sentence, as they are read.
    [[nodiscard]] QString wholeText() const;

    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override;
    /// The lines that are painted at the present width; one before the label is on screen, when its width means
    /// nothing.
    [[nodiscard]] QStringList shownLines() const;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void showEvent(QShowEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] int heightOf(qsizetype lines) const;
    /// Fonts and colours of the part of the whole text that begins at `from`.
    [[nodiscard]] QList<QTextLayout::FormatRange> formats(qsizetype from) const;
    [[nodiscard]] double widthOf(const QString& part, qsizetype from) const;
    [[nodiscard]] QString elidedAtWord(const QString& part, qsizetype from, double width) const;
    [[nodiscard]] qsizetype firstLine(double width) const;

    QString m_name;
    QString m_subject;
};

} // namespace retro::views
